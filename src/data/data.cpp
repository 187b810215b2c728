// SPDX-License-Identifier: Apache-2.0
// Data sets behind the public API.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "data/data.h"

namespace filigree {

using namespace internal;

namespace {

std::string with_commas(Index number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace

std::string internal::Dataset::describe_targets() const {
  const auto counted = [](Index count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", with_commas(count), count == 1 ? one : many);
  };
  switch (task) {
    case Task::classes:
      return counted(classes, "class", "classes");
    case Task::values:
      return counted(targets, "value", "values");
    case Task::labels:
      return counted(targets, "label", "labels");
  }
  return {};
}

Index Data::features() const {
  return impl_->dataset.train.features;
}
Index Data::classes() const {
  return impl_->dataset.classes;
}
Task Data::task() const {
  return impl_->dataset.task;
}
Index Data::targets() const {
  return task() == Task::classes ? 1 : impl_->dataset.targets;
}
const std::vector<std::string>& Data::target_names() const {
  return impl_->dataset.target_names;
}
Index Data::train_rows() const {
  return impl_->dataset.train.rows;
}
Index Data::test_rows() const {
  return impl_->dataset.test.rows;
}

bool Data::test_drawn() const {
  return impl_->dataset.test_drawn;
}

std::string Data::describe() const {
  return internal::describe(impl_->dataset);
}

std::string internal::describe(const Dataset& set) {
  return fmt::format("{}: {}{} rows of {} features, {}", set.name, with_commas(set.train.rows),
                     set.test.rows > 0 ? fmt::format(" + {}", with_commas(set.test.rows)) : "",
                     with_commas(set.train.features), set.describe_targets());
}

Data load_data(const DataOptions& options, const Observer& observer) {
  Data::Impl impl{load_dataset(options, observer), options};
  impl.options.source = absolute_source(options.source);
  return Data(std::make_shared<Data::Impl>(std::move(impl)));
}

}  // namespace filigree
