// SPDX-License-Identifier: Apache-2.0
// Data sets from text files: comma-separated numbers and LIBSVM's sparse rows.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/system.h"
#include "data/dataset_sources.h"
#include "data/split.h"
#include "io/csv.h"
#include "io/libsvm.h"
#include "io/message_text.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kMostClasses = 65536;

Source open(const std::string& file, const DataOptions& options) {
  return Source(find_file(file).value_or(file), memory_limit_or_usual(options.memory_limit));
}

// Files number their classes in many ways, from 0, from 1 or as -1 and +1. Here classes are numbered from 0
// in the order of the file's labels.
class ClassNumbers {
 public:
  ClassNumbers(const RowLabels& train, const std::string& file) : file_(file) {
    for (std::size_t row = 0; row < train.value.size(); ++row) {
      const Index label = train.value[row];
      const auto at = std::ranges::lower_bound(labels_, label);
      if (at != labels_.end() && *at == label) continue;
      if (labels_.size() == kMostClasses) {
        fail("{}:{}: label {} is one more than {} different ones: are these numbers of classes?", file,
             train.line[row], label, kMostClasses);
      }
      labels_.insert(at, label);
    }
  }

  Index classes() const { return labels_.size(); }
  std::vector<std::string> names() const {  // empty if they are the numbers
    bool numbers = true;
    std::vector<std::string> result;
    for (std::size_t c = 0; c < labels_.size(); ++c) {
      numbers = numbers && labels_[c] == static_cast<Index>(c);
      result.push_back(std::to_string(labels_[c]));
    }
    return numbers ? std::vector<std::string>() : result;
  }

  // `file` is where the rows are from, for the message about a label that the training rows lack.
  std::vector<Index> numbered(const RowLabels& rows, const std::string& file) const {
    std::vector<Index> number;
    number.reserve(rows.value.size());
    for (std::size_t row = 0; row < rows.value.size(); ++row) {
      const auto at = std::ranges::lower_bound(labels_, rows.value[row]);
      if (at == labels_.end() || *at != rows.value[row]) {
        fail("{}:{}: label {}, which no row of {} has", file, rows.line[row], rows.value[row], file_);
      }
      number.push_back(at - labels_.begin());
    }
    return number;
  }

 private:
  const std::string& file_;
  std::vector<Index> labels_;  // ascending
};

DataRows features_of(CsvTable& table) {
  DataRows part;
  part.rows = table.labels.rows();
  part.features = table.features;
  part.floats = Buffer<float>(table.value.size());
  std::ranges::copy(table.value, part.floats.begin());
  table.value = {};  // the memory is worth having back before the rows are split
  return part;
}

DataRows features_of(LibsvmTable& table) {
  DataRows part;
  part.rows = table.labels.rows();
  part.features = table.features;
  part.row_begin = std::move(table.row_begin);
  part.column = std::move(table.column);
  part.value = std::move(table.value);
  return part;
}

// `test` is null where the file has no other beside it.
template <typename Table>
Dataset assemble(Names files, Table& train, Table* test, const DataOptions& options) {
  const ClassNumbers numbers(train.labels, files[0]);
  Dataset set;
  set.name = std::filesystem::path(files[0]).filename().string();
  set.classes = numbers.classes();
  set.target_names = numbers.names();
  DataRows rows = features_of(train);
  rows.label = numbers.numbered(train.labels, files[0]);
  if (test != nullptr) {
    set.train = std::move(rows);
    set.test = features_of(*test);
    set.test.label = numbers.numbered(test->labels, files[1]);
  } else {
    draw_parts(rows, options, set);
  }
  return set;
}

void check_columns(const CsvTable& train, const CsvTable& test, Names files) {
  if (train.features != test.features) {
    fail("{}: {} columns, but {} has {}", files[1], test.features + 1, files[0], train.features + 1);
  }
  if (train.header.empty() || test.header.empty()) return;
  for (std::size_t c = 0; c < train.header.size(); ++c) {
    if (train.header[c] != test.header[c]) {
      fail("{}: column {} is {}, but {} has {} there", files[1], c + 1, in_quotes(test.header[c]), files[0],
           in_quotes(train.header[c]));
    }
  }
}

}  // namespace

Dataset load_csv(Names files, const DataOptions& options, const Observer& observer) {
  if (options.label_column.empty()) fail("{}: no column is named as the label's", files[0]);
  CsvTable train = read_csv(open(files[0], options), options.label_column, observer);
  std::vector<std::string> names = train.feature_names;
  Dataset set;
  if (files.size() == 1) {
    set = assemble<CsvTable>(files, train, nullptr, options);
  } else {
    CsvTable test = read_csv(open(files[1], options), options.label_column, observer);
    check_columns(train, test, files);
    set = assemble(files, train, &test, options);
  }
  set.feature_names = std::move(names);
  return set;
}

Dataset load_libsvm(Names files, const DataOptions& options, const Observer& observer) {
  LibsvmTable train = read_libsvm(open(files[0], options), observer);
  if (train.features == 0) fail("{}: no row has any feature", files[0]);
  if (files.size() == 1) return assemble<LibsvmTable>(files, train, nullptr, options);
  LibsvmTable test = read_libsvm(open(files[1], options), observer);
  train.features = test.features = std::max(train.features, test.features);
  return assemble(files, train, &test, options);
}

}  // namespace filigree::internal
