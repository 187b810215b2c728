// SPDX-License-Identifier: Apache-2.0
// Finds the loader that a source's scheme names, and checks what it brings.
#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string_view>

#include "base/error.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "io/file_kind.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

struct Scheme {
  std::string_view name, form;
  std::size_t names, more_names;  // how many may follow the colon: the one or the other
  bool names_files;               // or a number of rows
  LoadDataset load;
};

constexpr std::array kSchemes = {
    Scheme{"mnist", "mnist:DIR", 0, 1, true, load_mnist},  // with none it says where to get the files
    Scheme{"fashion", "fashion[:DIR]", 0, 1, true, load_fashion},
    Scheme{"idx", "idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS]", 2, 4, true, load_idx},
    Scheme{"csv", "csv:FILE[,TEST_FILE]", 1, 2, true, load_csv},
    Scheme{"libsvm", "libsvm:FILE[,TEST_FILE]", 1, 2, true, load_libsvm},
    Scheme{"npy", "npy:ROWS,TARGETS[,TEST_ROWS,TEST_TARGETS]", 2, 4, true, load_npy},
    Scheme{"npz", "npz:FILE[,TEST_FILE]", 1, 2, true, load_npz},
    Scheme{"digits", "digits[:TRAIN_ROWS]", 0, 1, false, load_digits},
    Scheme{"contexts", "contexts[:TRAIN_ROWS]", 0, 1, false, load_contexts},
};

const Scheme* scheme_called(std::string_view name) {
  const auto* const found = std::ranges::find(kSchemes, name, &Scheme::name);
  return found == kSchemes.end() ? nullptr : found;
}

const Scheme& find_scheme(std::string_view source) {
  const Scheme* const found = scheme_called(source.substr(0, source.find(':')));
  if (found == nullptr) {
    std::string forms;
    for (const Scheme& scheme : kSchemes) forms.append(forms.empty() ? "" : ", ").append(scheme.form);
    throw std::invalid_argument(
        fmt::format("{} names no data set, and no file; these are known: {}", in_quotes(source), forms));
  }
  return *found;
}

// What stands between the commas after the colon; none where nothing follows it. \\, is a comma in a name.
std::vector<std::string> split_names(std::string_view source) {
  std::vector<std::string> names;
  const std::size_t colon = source.find(':');
  if (colon == std::string_view::npos) return names;
  names.emplace_back();
  for (std::size_t i = colon + 1; i < source.size(); ++i) {
    if (source[i] == '\\' && i + 1 < source.size() && source[i + 1] == ',') {
      names.back() += source[++i];
    } else if (source[i] == ',') {
      names.emplace_back();
    } else {
      names.back() += source[i];
    }
  }
  if (names.size() == 1 && names.front().empty()) names.clear();
  return names;
}

std::string with_commas_marked(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == ',' ? "\\," : std::string(1, c);
  return text;
}

bool is_standard_input(const std::string& name) {
  return name == "-" || name == "/dev/stdin";
}

bool is_file(const std::string& name) {
  std::error_code ignored;
  return is_standard_input(name) || std::filesystem::is_regular_file(find_file(name).value_or(name), ignored);
}

// people.csv is csv:people.csv, if there is such a file and it holds a table.
std::string with_scheme(const std::string& source) {
  if (scheme_called(std::string_view(source).substr(0, source.find(':'))) != nullptr) return source;
  // A file whose name has commas, or several files with commas between them.
  const std::string text = is_file(source) ? with_commas_marked(source) : source;
  const std::vector<std::string> names = split_names(":" + text);
  if (names.empty() || !is_file(names.front())) return source;
  switch (file_kind(open_data(names.front()))) {
    case FileKind::csv:
      return "csv:" + text;
    case FileKind::libsvm:
      return "libsvm:" + text;
    case FileKind::idx:
      return "idx:" + text;
    case FileKind::npy:
      return "npy:" + text;
    case FileKind::npz:
      return "npz:" + text;
  }
  return source;
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
    throw std::invalid_argument(fmt::format("{} training rows of {}, but that is a whole number from 1 to {}",
                                            in_quotes(text), scheme, std::numeric_limits<Index>::max()));
  return rows;
}

void check_memory(std::string_view scheme, Index train_rows, std::size_t bytes_a_row,
                  const DataOptions& options) {
  const std::uint64_t limit = memory_limit_or_usual(options.memory_limit);
  const std::uint64_t rows = std::uint64_t{0} + train_rows + train_rows / 5;
  if (rows * bytes_a_row > limit)
    fail_for("memory_limit", "{}:{}: {} rows take {} bytes, but the memory limit is {}", scheme, train_rows,
             rows, rows * bytes_a_row, limit);
}

std::optional<std::string> csv_file_of(const std::string& given) {
  const std::string source = with_scheme(given);
  const std::vector<std::string> names = split_names(source);
  if (find_scheme(source).load != load_csv || names.empty()) return std::nullopt;
  return names.front();
}

std::string absolute_source(const std::string& given) {
  std::string source = with_scheme(given);
  const Scheme& scheme = find_scheme(source);
  const std::vector<std::string> names = split_names(source);
  if (!scheme.names_files || names.empty()) return source;
  std::string result(scheme.name);
  for (std::size_t i = 0; i < names.size(); ++i) {
    result += i == 0 ? ':' : ',';
    result += is_standard_input(names[i])
                  ? names[i]
                  : with_commas_marked(std::filesystem::absolute(names[i]).lexically_normal().string());
  }
  return result;
}

namespace {

// Of classes that one row or none to train on shows.
void warn_of_rare_classes(const Dataset& set, const Observer& observer) {
  if (set.task != Task::classes) return;
  std::vector<Offset> rows(set.classes, 0);
  for (const Index label : set.train.label) ++rows[label];
  for (const Offset few : {0, 1}) {
    const auto first = std::ranges::find(rows, few);
    if (first == rows.end()) continue;
    const std::size_t c = first - rows.begin();
    const std::string name = set.target_names.empty() ? std::to_string(c) : set.target_names[c];
    observer.warn(fmt::format("{}: {} of {} classes ha{} {} to train on, such as {}", set.name,
                              std::ranges::count(rows, few), set.classes,
                              std::ranges::count(rows, few) == 1 ? "s" : "ve",
                              few == 0 ? "no row" : "a single row", in_quotes(name)));
  }
}

Dataset load_checked(const DataOptions& options, const KnownTable* known, const Observer& observer) {
  if (!(options.test_share >= 0 && options.test_share < 1)) {
    throw std::invalid_argument(
        fmt::format("a test share of {}, but it is at least 0 and below 1", options.test_share));
  }
  const std::string source = with_scheme(options.source);
  const Scheme& scheme = find_scheme(source);
  const std::vector<std::string> names = split_names(source);
  if ((names.size() != scheme.names && names.size() != scheme.more_names) ||
      std::ranges::count(names, "") != 0) {
    throw std::invalid_argument(
        fmt::format("{} is not of the form {}{}", in_quotes(source), scheme.form,
                    scheme.names_files && names.size() > 1 ? "; a comma within a name is written \\," : ""));
  }
  observer.check_stop();
  Dataset set = scheme.load(names, {options, known, observer});
  if (options.task && *options.task != set.task)
    fail_for("task", "{} has {}, so the task is {}", source, set.describe_targets(), word(set.task));
  if (set.task == Task::classes && set.classes < 2)
    fail("{}: all rows have the same label, but there must be two classes", source);
  if (known == nullptr) warn_of_rare_classes(set, observer);
  assert(set.train.rows > 0 && set.train.features > 0 && set.train.features == set.test.features);
  assert(set.task != Task::classes || (in_range(set.train, set.classes) && in_range(set.test, set.classes)));
  return set;
}

}  // namespace

Dataset load_dataset(const DataOptions& options, const Observer& observer) {
  return load_checked(options, nullptr, observer);
}

Dataset load_dataset_for(const KnownTable& known, const DataOptions& options, const Observer& observer) {
  return load_checked(options, &known, observer);
}

}  // namespace filigree::internal
