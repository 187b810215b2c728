// SPDX-License-Identifier: Apache-2.0
// A data set in memory: rows of features, and what is to be told of each.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "filigree/columns.h"
#include "filigree/options.h"
#include "filigree/scaling.h"

namespace filigree::internal {

// The rows of one part. Exactly one of `bytes`, `floats` and the sparse arrays holds the features.
struct DataRows {
  Index rows = 0, features = 0;
  std::vector<Index> label;  // one per row, 0 … classes-1; may be empty where it is not known
  Buffer<std::uint8_t> bytes;
  bool pixels = true;             // bytes are alike and share a scale; else each column of them has its own
  Buffer<float> floats;           // rows × features, as bytes are
  std::vector<Offset> row_begin;  // sparse: rows + 1
  Buffer<Index> column;           // strictly increasing within a row
  Buffer<float> value;
  // In the place of labels, for values and labels: rows × targets; of labels each is 0 or 1.
  std::vector<float> target = {};
  std::vector<float> weight = {};  // one per row; empty: all weigh the same

  bool sparse() const { return !row_begin.empty(); }
  std::size_t feature_bytes() const;  // of all rows
  // Features may lie in a file that is mapped: those of rows [first, last) are not needed for a while, or
  // will be soon.
  bool on_disk() const { return bytes.on_disk() || floats.on_disk() || value.on_disk(); }
  void forget(Index first, Index last) const;
  void fetch(Index first, Index last) const;
};

// What a model remembers of the rows that it was trained on: enough to see whether other data are the same.
struct DataOrigin {
  std::uint64_t all_rows = 0, train_rows = 0;  // hashes of rows in any order; 0: not known
  bool operator==(const DataOrigin&) const = default;
};

struct Dataset {
  std::string name;  // "Fashion-MNIST"
  Index classes = 0;
  DataRows train, test;                         // the same features; test may hold no rows
  DataRows validation = {};                     // rows to be watched; none: a share of the training rows is
  std::vector<std::string> target_names = {};   // of the classes, values or labels; empty: 0, 1, …
  std::vector<std::string> feature_names = {};  // of the features, where the file names its columns
  DataOrigin origin = {};
  bool test_drawn = false;  // the test rows were drawn from the same file as the training rows
  Task task = Task::classes;
  Index targets = 0;                      // values or labels of a row
  std::vector<InputColumn> columns = {};  // of a table that is more than numbers
  std::vector<char> indicators = {};      // 1 for each feature that is 0 or 1 and not to be scaled; or empty
  std::vector<std::string> target_columns = {};  // names of a table's columns of targets

  // How many outputs a network has for this data.
  Index outputs(Loss loss) const {
    if (task != Task::classes) return targets;
    return loss == Loss::binary_cross_entropy ? 1 : classes;
  }
  // "10 classes", "1 value"
  std::string describe_targets() const;
};

// "Fashion-MNIST: 60,000 + 10,000 rows of 784 features, 10 classes"
std::string describe(const Dataset& set);

// Reads, checks and splits what `options.source` names. Errors name file, line and numbers.
Dataset load_dataset(const DataOptions& options, const Observer& observer);

// What a network was trained on.
struct KnownColumns {
  std::vector<InputColumn> inputs;
  bool named = false;                     // the inputs' columns had names
  std::vector<std::string> targets = {};  // names of the targets' columns, as far as they are known
  std::string file = {};                  // that has these columns; empty: a network was trained on them
};
struct KnownTable {
  KnownColumns columns;
  Task task = Task::classes;
  std::vector<std::string> names = {};  // of the classes, values or labels
};
// A table as a network that was trained on another one reads it: the same columns, categories and classes.
// Other sources are read as load_dataset() does.
Dataset load_dataset_for(const KnownTable& known, const DataOptions& options, const Observer& observer);

// The first file of a source that is a table, by its scheme or by what it holds.
std::optional<std::string> csv_file_of(const std::string& source);

// The same source, with the names of its files from the root on: a run can then be resumed from anywhere.
std::string absolute_source(const std::string& source);

// From the given rows. Sparse rows stay as they are, but where `indicators` says which features are 0 or 1:
// the others stand in every row, and are scaled.
//   standard: mean 0 and variance 1, one mean and scale for all pixels, one per column of others (scale 1
//   where a
//             column is constant), computed in double
//   unit: zeros stay zeros, the largest magnitude is 1 (of pixels: 255 is), one scale per column
InputScaling input_scaling(Scaling kind, const DataRows& data, std::span<const Index> rows,
                           std::span<const char> indicators = {});

}  // namespace filigree::internal
