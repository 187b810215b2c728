// SPDX-License-Identifier: Apache-2.0
// Data sets in memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "filigree/options.h"

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
