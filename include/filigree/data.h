// SPDX-License-Identifier: Apache-2.0
// Data sets in memory.
#pragma once

#include <memory>
#include <span>
#include <string>

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

}  // namespace filigree
#pragma GCC visibility pop
