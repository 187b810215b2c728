// SPDX-License-Identifier: Apache-2.0
#include "train/device_pass.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace filigree {

namespace {

constexpr std::size_t kGroup = 32;

void check_plain(const TrainState& state) {
  const TrainOptions& o = state.options;
  if (!o.exits.empty() || !o.mixtures.empty())
    fail("networks with {} are trained on the CPU: use --device cpu", o.exits.empty() ? "mixtures" : "exits");
  for (const Index width : o.network)
    if (width > kMaxPatternColumns)
      fail("a layer of {} neurons, but devices take {} at most: use --device cpu", width, kMaxPatternColumns);
}

Pattern full_pattern(Index rows, Index cols) {
  Pattern pattern;
  pattern.rows = rows;
  pattern.cols = cols;
  pattern.row_begin.clear();
  for (Index r = 0; r <= rows; ++r)
    pattern.row_begin.push_back(static_cast<std::uint32_t>(r) * static_cast<std::uint32_t>(cols));
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) pattern.column.push_back(static_cast<std::uint16_t>(c));
  return pattern;
}

TrainingRows rows_view(const DataRows& rows, const InputScaling& scaling) {
  TrainingRows view;
  view.rows = static_cast<unsigned>(rows.rows);
  view.bytes = {rows.bytes.data(), rows.bytes.size()};
  view.floats = {rows.floats.data(), rows.floats.size()};
  view.row_begin = rows.row_begin;
  view.column = rows.column;
  view.value = rows.value;
  view.mean = scaling.mean;
  view.scale = scaling.scale;
  return view;
}

std::vector<Index> labels_of(const DataRows& data, std::span<const Index> rows) {
  std::vector<Index> labels;
  labels.reserve(rows.size());
  for (const Index row : rows) labels.push_back(data.label[static_cast<std::size_t>(row)]);
  return labels;
}

}  // namespace

DevicePass::DevicePass(const DevicePlace& place, const Dataset& data, const TrainState& state,
                       std::size_t slices, std::size_t panel)
    : data_(data), options_(state.options), slices_(slices), panel_(panel) {
  check_plain(state);
  const TrainOptions& o = state.options;
  TrainingShape shape;
  shape.batch = static_cast<unsigned>(o.batch);
  shape.growth_batches = static_cast<unsigned>(o.growth_batches);
  shape.features = static_cast<unsigned>(data.train.features);
  shape.classes = static_cast<unsigned>(data.classes);
  shape.optimizer = o.optimizer;
  shape.loss = o.loss;
  shape.label_smoothing = o.label_smoothing;
  shape.dropout = o.dropout;
  shape.input_dropout = o.input_dropout;
  shape.panel = static_cast<unsigned>(panel);
  training_ = place.backend->start_training(place.devices, shape);
  training_->set_rows(RowsPart::train, rows_view(data.train, state.scaling));
  if (data.test.rows > 0) training_->set_rows(RowsPart::test, rows_view(data.test, state.scaling));
}

std::vector<TrainingLayer> DevicePass::views(std::vector<TrainLayer>& layers) {
  std::vector<TrainingLayer> all;
  full_.resize(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    TrainLayer& layer = layers[l];
    if (layer.dense && full_[l].rows == 0) full_[l] = full_pattern(layer.outputs, layer.inputs);
    const Pattern& pattern = layer.dense ? full_[l] : layer.pattern;
    all.push_back({static_cast<unsigned>(layer.inputs), static_cast<unsigned>(layer.outputs),
                   layer.activation, layer.slope, !layer.dense && layer.by_input, pattern.row_begin,
                   pattern.column, layer.value, layer.first, layer.second, layer.bias, layer.bias_first,
                   layer.bias_second});
  }
  return all;
}

void DevicePass::send(std::vector<TrainLayer>& layers) {
  training_->set_layers(views(layers));
}

void DevicePass::bring_home(std::vector<TrainLayer>& layers) {
  training_->get_layers(views(layers));
  for (TrainLayer& layer : layers) refresh_transposed(layer);
}

void DevicePass::bring_gradients(std::vector<TrainLayer>& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l)
    training_->get_gradients(l, std::span(layers[l].gradient).first(layers[l].value.size()),
                             std::span(layers[l].bias_gradient).first(layers[l].bias.size()));
  training_->clear_gradients();
}

LossSum DevicePass::train(std::span<const Index> rows, std::uint64_t key, std::size_t first, int keep_as) {
  const std::vector<Index> labels = labels_of(data_.train, rows);
  TrainingBatch batch{rows, labels, 1.0 / static_cast<double>(rows.size())};
  if (options_.dropout + options_.input_dropout > 0) {
    // The panels of the CPU's slices: see Trainer::run_slices.
    const std::size_t groups = (rows.size() + kGroup - 1) / kGroup;
    std::vector<std::size_t> panel_of(groups);
    for (std::size_t s = 0; s < slices_; ++s)
      for (std::size_t begin = groups * s / slices_, g = begin; g < groups * (s + 1) / slices_; ++g) {
        const std::size_t lane = (g - begin) * kGroup % panel_;
        batch.drop.lane.push_back(static_cast<std::uint32_t>(lane));
        panel_of[g] = first + g * kGroup - lane;
      }
    for (std::size_t level = 0; level + 1 < options_.network.size(); ++level)
      for (const std::size_t panel : panel_of)
        batch.drop.key.push_back(SlicePass::dropout_key(key, panel, level));
  }
  const TrainingSums sums = training_->add_gradients(batch, keep_as);
  return {sums.loss, sums.correct};
}

LossSum DevicePass::evaluate(const DataRows& data, std::span<const Index> rows) {
  const TrainingSums sums = training_->evaluate(&data == &data_.train ? RowsPart::train : RowsPart::test,
                                                rows, labels_of(data, rows));
  return {sums.loss, sums.correct};
}

std::vector<Candidate> DevicePass::Growth::largest(std::size_t l, const Pattern& taken, std::size_t count,
                                                   std::span<const std::uint32_t> outputs) const {
  std::vector<Candidate> found;
  for (const PlacedGradient& at :
       training_.largest_gradients(l, taken.row_begin, taken.column, count, outputs))
    found.push_back({at.gradient, at.row, at.column});
  keep_largest(found, count);
  return found;
}

}  // namespace filigree
