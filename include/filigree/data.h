// SPDX-License-Identifier: Apache-2.0
// Data sets in memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filigree/loss.h"
#include "filigree/options.h"
#include "filigree/rows.h"

#pragma GCC visibility push(default)
namespace filigree {

// A data set with a training and a test part. It cannot be changed, and copies share it: any number of
// threads may use one.
class Data {
 public:
  struct Impl;  // the library's own
  explicit Data(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  Index features() const;
  Task task() const;
  Index classes() const;  // 0 where the task is another
  Index targets() const;  // values or labels of a row; 1 class
  // What the file calls the classes, values or labels; empty: 0, 1, …
  const std::vector<std::string>& target_names() const;
  Index train_rows() const;
  Index test_rows() const;
  bool test_drawn() const;       // the test rows were drawn from the file of the training rows
  std::string describe() const;  // "Fashion-MNIST: 60,000 + 10,000 rows of 784 features, 10 classes"
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

[[nodiscard]] Data load_data(const DataOptions& options, const Observer& observer = {});
// From arrays: `features` values a row, one label (0, 1, …) a row; without test rows.
[[nodiscard]] Data make_data(std::span<const float> values, std::span<const Index> labels, Index features);

// Rows in memory, and what is to be told of them: classes, or targets.
struct LabelledRows {
  Rows rows;                            // of any kind and layout
  std::span<const Index> classes = {};  // one a row: 0, 1, …
  std::span<const float> targets = {};  // values, or labels (0 and 1): as many a row as there are
  std::span<const float> weights = {};  // how much each row counts in training; empty: all the same
};
struct MakeOptions {
  Task task = Task::classes;
  Index targets = 0;  // classes, values or labels; 0: as many as the rows to train on show
  std::vector<std::string> target_names = {};  // of the classes, values or labels
  std::vector<std::string> feature_names = {};
  std::optional<LabelledRows> validation = {};  // watched in training, in the place of a share of the rows
  std::optional<LabelledRows> test = {};
  std::string name = "data in memory";
  // Floats and bytes that lie row by row without gaps are not copied: their memory must outlive the data.
  bool borrow = false;
};
// Throws std::invalid_argument if sizes do not fit together, Error if numbers are not finite, classes or
// labels out of range, columns of CSR rows not ascending, or weights negative.
[[nodiscard]] Data make_data(const LabelledRows& train, const MakeOptions& options = {});

// What a column of a table holds, and what would be done with it.
struct ColumnSummary {
  enum class Use { input, target, weight, left_out };
  std::string name = {};  // empty: there is no header
  Use use = Use::input;
  Offset numbers = 0, texts = 0, missing = 0;  // cells
  Offset dates = 0;                            // texts that look like dates or times
  Offset different = 0;                        // contents; 0: too many to count
  double least = 0, mean = 0, most = 0;        // of the numbers
  std::vector<std::pair<std::string, Offset>> common =
      {};            // contents and their rows, the most frequent first
  Index inputs = 0;  // of the network, that it becomes
  float fill = 0;    // what takes the place of missing numbers; NaN: nothing does
};

// A look at data before anything is trained on it.
struct DataSummary {
  Offset rows = 0;
  std::vector<ColumnSummary> columns = {};  // of a CSV file
  char separator = 0;                       // the same
  bool header = false;
  // What training would make of it, unless there is a fault.
  std::optional<Task> task = {};
  std::string description = {};  // as Data::describe()
  Index inputs = 0;
  double filled = 1;  // the share of the rows' values that is stored: below 1 where rows are sparse
  std::vector<std::pair<std::string, Offset>> classes = {};  // and their rows, in their order
  std::vector<std::string> notes = {};                       // what is suspicious
  std::string fault = {};                                    // why it cannot be trained on as it is
  std::string fault_setting = {};                            // that helps if it is changed, as Error has it
};
// Throws Error only where the rows cannot be told apart.
[[nodiscard]] DataSummary summarize_data(const DataOptions& options, const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
