// Finds the loader that a source's scheme names, and checks what it brings.
#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "data/dataset_sources.h"
#include "io/message_text.h"

namespace filigree {
namespace {

struct Scheme {
  std::string_view name, form;
  std::size_t names, more_names;  // how many may follow the colon: the one or the other
  Dataset (*load)(Names names, const DataOptions& options, const Observer& observer);
};

constexpr std::array kSchemes = {
    Scheme{"mnist", "mnist:DIR", 0, 1, load_mnist},  // with none it says where to get the files
    Scheme{"fashion", "fashion[:DIR]", 0, 1, load_fashion},
    Scheme{"idx", "idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS]", 2, 4, load_idx},
    Scheme{"csv", "csv:FILE[,TEST_FILE]", 1, 2, load_csv},
    Scheme{"libsvm", "libsvm:FILE[,TEST_FILE]", 1, 2, load_libsvm},
    Scheme{"digits", "digits[:TRAIN_ROWS]", 0, 1, load_digits},
    Scheme{"contexts", "contexts[:TRAIN_ROWS]", 0, 1, load_contexts},
};

const Scheme& find_scheme(std::string_view source) {
  const std::string_view name = source.substr(0, source.find(':'));
  const auto* const found = std::ranges::find(kSchemes, name, &Scheme::name);
  if (found == kSchemes.end()) {
    std::string forms;
    for (const Scheme& scheme : kSchemes) forms.append(forms.empty() ? "" : ", ").append(scheme.form);
    fail("{} names no data set; these are known: {}", in_quotes(source), forms);
  }
  return *found;
}

// What stands between the commas after the colon; none where nothing follows it.
std::vector<std::string> split_names(std::string_view source) {
  std::vector<std::string> names;
  std::string_view rest = source.substr(std::min(source.find(':'), source.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    names.emplace_back(rest.substr(0, rest.find(',')));
    rest.remove_prefix(names.back().size());
  }
  if (names.size() == 1 && names.front().empty()) names.clear();
  return names;
}

[[maybe_unused]] bool in_range(const DataRows& part, Index classes) {
  return std::ranges::all_of(part.label, [&](Index label) { return label >= 0 && label < classes; });
}

}  // namespace

Index rows_named(Names train_rows, std::string_view scheme, Index otherwise) {
  if (train_rows.empty()) return otherwise;
  const std::string& text = train_rows.front();
  const char* const end = text.data() + text.size();
  Index rows = 0;
  const auto [stop, status] = std::from_chars(text.data(), end, rows);
  if (status != std::errc() || stop != end || rows < 1)
    fail("{} training rows of {}, but that is a whole number from 1 to {}", in_quotes(text), scheme,
         std::numeric_limits<Index>::max());
  return rows;
}

Dataset load_dataset(const DataOptions& options, const Observer& observer) {
  if (!(options.test_share >= 0 && options.test_share < 1)) {
    fail("a test share of {}, but it is at least 0 and below 1", options.test_share);
  }
  const Scheme& scheme = find_scheme(options.source);
  const std::vector<std::string> names = split_names(options.source);
  if ((names.size() != scheme.names && names.size() != scheme.more_names) ||
      std::ranges::count(names, "") != 0) {
    fail("{} is not of the form {}", in_quotes(options.source), scheme.form);
  }
  observer.check_stop();
  Dataset set = scheme.load(names, options, observer);
  if (set.classes < 2)
    fail("{}: all rows have the same label, but there must be two classes", options.source);
  assert(set.train.rows > 0 && set.train.features > 0 && set.train.features == set.test.features);
  assert(in_range(set.train, set.classes) && in_range(set.test, set.classes));
  return set;
}

}  // namespace filigree
