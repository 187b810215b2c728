// SPDX-License-Identifier: Apache-2.0
// Data sets of rows in memory.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/error.h"
#include "base/rows.h"
#include "data/data.h"

namespace filigree {

using namespace internal;

namespace {

constexpr Index kMostClasses = 65536;

// Rows without gaps between them: where they are, or a copy.
template <typename T>
Buffer<T> dense_of(std::span<const T> values, const Rows& rows, bool borrow) {
  const std::size_t width = rows.columns(), stride = rows.stride();
  if (values.empty()) return {};
  if (borrow && stride == width) return Buffer<T>::borrowed(values.first(rows.rows() * width));
  Buffer<T> buffer(rows.rows() * width);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    std::copy_n(values.data() + r * stride, width, buffer.data() + r * width);
  return buffer;
}

template <typename T>
Buffer<T> copy_of(std::span<const T> values) {
  Buffer<T> buffer(values.size());
  std::ranges::copy(values, buffer.begin());
  return buffer;
}

void take_features(const Rows& given, bool borrow, DataRows& part) {
  PlainRows plain(given);
  const Rows& rows = plain.rows();
  part.rows = static_cast<Index>(rows.rows());
  part.features = static_cast<Index>(rows.columns());
  part.floats = plain.take_floats();
  part.bytes = plain.take_bytes();
  if (part.floats.empty() && part.bytes.empty()) {
    part.floats = dense_of(rows.floats(), rows, borrow);
    part.bytes = dense_of(rows.bytes(), rows, borrow);
  }
  part.row_begin.assign(rows.row_begin().begin(), rows.row_begin().end());
  part.column = copy_of(rows.column());
  part.value = copy_of(rows.value());
}

void check_features(const DataRows& part) {
  const auto check = [](std::size_t row, Offset feature, float value) {
    if (!std::isfinite(value)) fail("feature {} of row {} is {}", feature, row, value);
  };
  const std::size_t width = part.features;
  for (std::size_t i = 0; i < part.floats.size(); ++i)
    if (!std::isfinite(part.floats[i])) check(i / width, static_cast<Offset>(i % width), part.floats[i]);
  for (Index r = 0; part.sparse() && r < part.rows; ++r)
    for (Offset e = part.row_begin[r]; e < part.row_begin[r + 1]; ++e) {
      check(r, part.column[e], part.value[e]);
      if (e > part.row_begin[r] && part.column[e] <= part.column[e - 1])
        fail("the columns of row {} do not ascend: {} after {}", r, part.column[e], part.column[e - 1]);
    }
}

void check_count(std::string_view what, std::size_t given, std::size_t rows, std::size_t each) {
  if (given != rows * each) throw std::invalid_argument(fmt::format("{} {} for {} rows", given, what, rows));
}

void check_targets(const DataRows& part, Task task, Index count) {
  for (std::size_t r = 0; r < part.label.size(); ++r)
    if (part.label[r] < 0 || part.label[r] >= count)
      fail("label of row {} is {}, but labels are 0, 1, … up to {}", r, part.label[r], count - 1);
  for (std::size_t i = 0; i < part.target.size(); ++i) {
    const float target = part.target[i];
    if (task == Task::labels ? target != 0 && target != 1 : !std::isfinite(target))
      fail("target {} of row {} is {}{}", i % count, i / count, target,
           task == Task::labels ? ", but a label is 0 or 1" : "");
  }
}

// `targets`: how many values or labels a row has, or the most classes there may be.
DataRows part_of(const LabelledRows& given, const MakeOptions& options, Index targets) {
  DataRows part;
  take_features(given.rows, options.borrow, part);
  check_features(part);
  const std::size_t rows = part.rows;
  if (options.task == Task::classes) {
    check_count("classes", given.classes.size(), rows, 1);
    part.label.assign(given.classes.begin(), given.classes.end());
  } else {
    check_count("targets", given.targets.size(), rows, targets);
    part.target.assign(given.targets.begin(), given.targets.end());
  }
  check_targets(part, options.task, targets);
  if (!given.weights.empty()) check_count("weights", given.weights.size(), rows, 1);
  part.weight.assign(given.weights.begin(), given.weights.end());
  for (std::size_t r = 0; r < part.weight.size(); ++r)
    if (!(part.weight[r] >= 0) || !std::isfinite(part.weight[r]))
      fail("the weight of row {} is {}, but a weight is 0 or more", r, part.weight[r]);
  return part;
}

DataRows further_part(const std::optional<LabelledRows>& given, const MakeOptions& options,
                      const Dataset& set) {
  DataRows part;
  part.features = set.train.features;
  if (!given) return part;
  part = part_of(*given, options, options.task == Task::classes ? set.classes : set.targets);
  if (part.features != set.train.features || part.sparse() != set.train.sparse())
    throw std::invalid_argument(fmt::format("{} rows of {} values, but those to train on are {} and have {}",
                                            part.sparse() ? "sparse" : "dense", part.features,
                                            set.train.sparse() ? "sparse" : "dense", set.train.features));
  return part;
}

}  // namespace

Data make_data(const LabelledRows& train, const MakeOptions& options) {
  const std::size_t rows = train.rows.rows();
  if (rows == 0) throw std::invalid_argument("no rows");
  if (rows > static_cast<std::size_t>(std::numeric_limits<Index>::max()))
    throw std::invalid_argument(fmt::format("{} rows", rows));
  if (train.rows.columns() == 0) throw std::invalid_argument("rows of 0 features");
  if (options.targets < 0 || options.targets > kMostClasses)
    throw std::invalid_argument(fmt::format("{} targets", options.targets));
  Data::Impl impl;
  Dataset& set = impl.dataset;
  set.name = options.name;
  set.task = options.task;
  set.target_names = options.target_names;
  set.feature_names = options.feature_names;
  Index targets = options.targets;
  if (options.task == Task::classes) {
    set.train = part_of(train, options, targets == 0 ? kMostClasses : targets);
    if (targets == 0) targets = std::ranges::max(set.train.label) + 1;
    set.classes = targets;
  } else {
    if (targets == 0) targets = static_cast<Index>(train.targets.size() / rows);
    if (targets == 0 || targets > kMostClasses)
      throw std::invalid_argument(fmt::format("{} targets", targets));
    set.train = part_of(train, options, targets);
    set.targets = targets;
  }
  if (!set.target_names.empty()) check_count("names", set.target_names.size(), 1, targets);
  if (!set.feature_names.empty()) check_count("names", set.feature_names.size(), 1, set.train.features);
  set.validation = further_part(options.validation, options, set);
  set.test = further_part(options.test, options, set);
  return Data(std::make_shared<Data::Impl>(std::move(impl)));
}

Data make_data(std::span<const float> values, std::span<const Index> labels, Index features) {
  if (features < 1) throw std::invalid_argument(fmt::format("{} features", features));
  if (labels.empty()) throw std::invalid_argument("no rows");
  if (values.size() != labels.size() * features)
    throw std::invalid_argument(
        fmt::format("{} values for {} rows of {} features", values.size(), labels.size(), features));
  return make_data({Rows(values, features), labels});
}

}  // namespace filigree
