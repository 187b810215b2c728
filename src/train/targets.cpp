// SPDX-License-Identifier: Apache-2.0
#include "train/targets.h"

#include <cmath>
#include <numeric>

#include "base/error.h"

namespace filigree::internal {

namespace {

std::string target_name(const Dataset& data, std::size_t t) {
  return data.target_names.empty() ? fmt::format("value {}", t + 1) : data.target_names[t];
}

// Of differences to the first row's, so that the mean of a constant is exactly its value.
InputScaling scaling_of_values(const Dataset& data, std::span<const Index> rows) {
  const std::size_t width = data.targets;
  const float* const all = data.train.target.data();
  InputScaling scaling;
  const double count = rows.size();
  for (std::size_t t = 0; t < width; ++t) {
    const double first = all[rows.front() * width + t];
    double sum = 0, squares = 0;
    for (const Index row : rows) sum += all[row * width + t] - first;
    const double mean = sum / count;
    for (const Index row : rows) {
      const double difference = all[row * width + t] - first - mean;
      squares += difference * difference;
    }
    const auto scale = static_cast<float>(1 / std::sqrt(squares / count));
    if (!std::isnormal(scale))
      fail("{}: {} is {} in all {} training rows, so there is nothing to learn", data.name,
           target_name(data, t), first, rows.size());
    scaling.mean.push_back(static_cast<float>(first + mean));
    scaling.scale.push_back(scale);
  }
  return scaling;
}

// What a row of each class counts besides its own weight.
std::vector<double> class_weights(const Dataset& data, const LearningOptions& options,
                                  std::span<const Index> rows) {
  if (!options.balanced && options.class_weights.empty()) return {};
  if (data.task != Task::classes)
    fail("weights of classes, but {} has {}", data.name, data.describe_targets());
  if (options.balanced && !options.class_weights.empty())
    fail("classes are balanced, and have {} weights as well: one of both", options.class_weights.size());
  if (options.balanced) {
    std::vector<double> count(data.classes, 0.0);
    for (const Index row : rows) ++count[data.train.label[row]];
    for (double& each : count) each = each == 0 ? 0 : rows.size() / (count.size() * each);
    return count;
  }
  if (options.class_weights.size() != static_cast<std::size_t>(data.classes))
    fail("{} class weights, but {} has {} classes", options.class_weights.size(), data.name, data.classes);
  return options.class_weights;
}

std::vector<float> weights_of(const Dataset& data, const LearningOptions& options,
                              std::span<const Index> rows) {
  const std::vector<double> of_class = class_weights(data, options, rows);
  if (of_class.empty() && data.train.weight.empty()) return {};
  const auto weight = [&](Index row) {
    return (data.train.weight.empty() ? 1.0 : data.train.weight[row]) *
           (of_class.empty() ? 1.0 : of_class[data.train.label[row]]);
  };
  double sum = 0;
  for (const Index row : rows) sum += weight(row);
  if (!(sum > 0))
    fail("{}: the weights of all {} training rows together are {}", data.name, rows.size(), sum);
  std::vector<float> result(data.train.rows, 0.0f);
  for (const Index row : rows) result[row] = static_cast<float>(weight(row) * rows.size() / sum);
  return result;
}

}  // namespace

Targets targets_of(const Dataset& data, const LearningOptions& options, std::span<const Index> train_rows) {
  Targets targets;
  if (data.task == Task::values) targets.scaling = scaling_of_values(data, train_rows);
  targets.weight = weights_of(data, options, train_rows);
  return targets;
}

void load_targets(const DataRows& data, const InputScaling& scaling, std::span<const Index> rows,
                  std::size_t stride, std::vector<float>& to) {
  if (!data.label.empty()) {
    to.assign(stride, 0.0f);
    for (std::size_t b = 0; b < rows.size(); ++b) to[b] = data.label[rows[b]] == 1 ? 1.0f : 0.0f;
    return;
  }
  const std::size_t width = data.rows == 0 ? 0 : data.target.size() / data.rows;
  to.assign(width * stride, 0.0f);
  for (std::size_t b = 0; b < rows.size(); ++b)
    for (std::size_t t = 0; t < width; ++t)
      to[t * stride + b] = (data.target[rows[b] * width + t] - scaling.mean_of(t)) * scaling.scale_of(t);
}

double spread_of(const DataRows& data, const InputScaling& scaling, std::span<const Index> rows) {
  const std::size_t width = scaling.mean.size();
  double spread = 0;
  for (std::size_t t = 0; t < width; ++t) {
    const auto scaled = [&](Index row) {
      return (double{data.target[row * width + t]} - scaling.mean[t]) * scaling.scale[t];
    };
    double sum = 0, squares = 0;
    for (const Index row : rows) sum += scaled(row);
    const double mean = sum / static_cast<double>(rows.size());
    for (const Index row : rows) squares += (scaled(row) - mean) * (scaled(row) - mean);
    spread += squares / static_cast<double>(rows.size() * width);
  }
  return spread;
}

void to_own_units(Layer& layer, const InputScaling& scaling) {
  if (scaling.none()) return;
  for (Index o = 0; o < layer.weights.rows; ++o) {
    const double unit = 1 / double{scaling.scale_of(o)};
    for (Offset e = layer.weights.row_begin[o]; e < layer.weights.row_begin[o + 1]; ++e)
      layer.weights.value[e] = static_cast<float>(layer.weights.value[e] * unit);
    layer.bias[o] = static_cast<float>(layer.bias[o] * unit + scaling.mean_of(o));
  }
}

void to_scaled_units(TrainLayer& layer, const InputScaling& scaling) {
  if (scaling.none()) return;
  const std::size_t inputs = layer.inputs;
  const auto scale = [&](std::size_t entry, std::size_t output) {
    layer.value[entry] *= scaling.scale_of(output);
  };
  if (layer.dense)
    for (std::size_t e = 0; e < layer.value.size(); ++e) scale(e, e / inputs);
  for (std::size_t r = 0; !layer.dense && r + 1 < layer.pattern.row_begin.size(); ++r)
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      scale(e, layer.by_input ? layer.pattern.column[e] : r);
  for (std::size_t o = 0; o < layer.bias.size(); ++o)
    layer.bias[o] = (layer.bias[o] - scaling.mean_of(o)) * scaling.scale_of(o);
  refresh_transposed(layer);
}

}  // namespace filigree::internal
