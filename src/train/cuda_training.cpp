// SPDX-License-Identifier: Apache-2.0
#include "train/cuda_training.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "train/cpu_training.h"
#include "train/pass.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kGroup = 32;

void check_plain(const TrainState& state) {
  const TrainOptions& o = state.options;
  if (!o.network.exits.empty() || !o.network.mixtures.empty())
    fail_for("device", "networks with {} are trained on the CPU",
             o.network.exits.empty() ? "mixtures" : "exits");
  for (const Index width : o.network.neurons)
    if (width > kMaxPatternColumns)
      fail_for("device", "a layer of {} neurons, but devices take {} at most", width, kMaxPatternColumns);
}

Pattern full_pattern(Index rows, Index cols) {
  Pattern pattern;
  pattern.rows = rows;
  pattern.cols = cols;
  pattern.row_begin.clear();
  for (Index r = 0; r <= rows; ++r) pattern.row_begin.push_back(static_cast<std::uint32_t>(r) * cols);
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) pattern.column.push_back(static_cast<std::uint16_t>(c));
  return pattern;
}

TrainingRows rows_view(const DataRows& rows, const InputScaling& scaling) {
  TrainingRows view;
  view.rows = rows.rows;
  view.bytes = {rows.bytes.data(), rows.bytes.size()};
  view.floats = {rows.floats.data(), rows.floats.size()};
  view.row_begin = rows.row_begin;
  view.column = rows.column;
  view.value = rows.value;
  view.mean = scaling.mean;
  view.scale = scaling.scale;
  return view;
}

// What the loss of some rows needs to know of them; keeps what the view borrows.
class BatchTargets {
 public:
  BatchTargets(const DataRows& data, const Targets& targets, Loss loss, std::span<const Index> rows,
               bool weighted) {
    const bool classes = !fits(loss, Task::labels) && !data.label.empty();
    std::vector<float> of_row;
    for (std::size_t b = 0; b < rows.size(); ++b) {
      if (classes) {
        label_.push_back(data.label[rows[b]]);
      } else {
        load_targets(data, targets.scaling, rows.subspan(b, 1), 1, of_row);
        target_.insert(target_.end(), of_row.begin(), of_row.end());
      }
    }
    if (weighted && !targets.weight.empty())
      for (const Index row : rows) weight_.push_back(targets.weight[row]);
  }
  TrainingTargets view() const { return {label_, target_, weight_}; }

 private:
  std::vector<Index> label_;
  std::vector<float> target_, weight_;
};

}  // namespace

CudaTraining::CudaTraining(const DevicePlace& place, const Dataset& data, const TrainState& state)
    : data_(data), options_(state.options), targets_(state.targets) {
  check_plain(state);
  const TrainOptions& o = state.options;
  TrainingShape shape;
  shape.batch = o.run.batch;
  shape.growth_batches = o.evolution.growth_batches;
  shape.features = data.train.features;
  shape.outputs = o.network.neurons.back();
  shape.loss = o.learning.loss;
  shape.label_smoothing = o.learning.label_smoothing;
  shape.dropout = o.learning.dropout;
  shape.input_dropout = o.learning.input_dropout;
  shape.panel = SlicePass::panel_samples(o, slice_samples(o));
  training_ = place.backend->start_training(place.devices, shape);
  training_->set_rows(RowsPart::train, rows_view(data.train, state.facts.scaling));
  if (data.test.rows > 0) training_->set_rows(RowsPart::test, rows_view(data.test, state.facts.scaling));
}

std::vector<TrainingLayer> CudaTraining::views(std::vector<TrainLayer>& layers) {
  std::vector<TrainingLayer> all;
  full_.resize(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    TrainLayer& layer = layers[l];
    if (layer.dense && full_[l].rows == 0) full_[l] = full_pattern(layer.outputs, layer.inputs);
    const Pattern& pattern = layer.dense ? full_[l] : layer.pattern;
    all.push_back({static_cast<unsigned>(layer.inputs), static_cast<unsigned>(layer.outputs),
                   layer.activation, !layer.dense && layer.by_input, pattern.row_begin, pattern.column,
                   layer.value, layer.first, layer.second, layer.bias, layer.bias_first, layer.bias_second});
  }
  return all;
}

void CudaTraining::set_layers(std::vector<TrainLayer>& layers) {
  training_->set_layers(views(layers));
}

void CudaTraining::get_layers(std::vector<TrainLayer>& layers) {
  training_->get_layers(views(layers));
  for (TrainLayer& layer : layers) refresh_transposed(layer);
}

void CudaTraining::get_gradients(std::vector<TrainLayer>& layers) {
  for (std::size_t l = 0; l < layers.size(); ++l)
    training_->get_gradients(l, std::span(layers[l].gradient).first(layers[l].value.size()),
                             std::span(layers[l].bias_gradient).first(layers[l].bias.size()));
  training_->clear_gradients();
}

DropPlan CudaTraining::drop_plan(const GradientRows& batch) const {
  DropPlan plan;
  if (options_.learning.dropout + options_.learning.input_dropout == 0) return plan;
  const std::size_t slices = slices_for(options_),
                    panel_samples = SlicePass::panel_samples(options_, slice_samples(options_));
  const std::size_t whole = (options_.run.batch + kGroup - 1) / kGroup * kGroup;
  const std::size_t groups = (batch.rows.size() + kGroup - 1) / kGroup;
  std::vector<std::size_t> panel_of(groups);
  for (std::size_t s = 0; s < slices; ++s)
    for (std::size_t begin = groups * s / slices, g = begin; g < groups * (s + 1) / slices; ++g) {
      const std::size_t lane = (g - begin) * kGroup % panel_samples;
      plan.lane.push_back(lane);
      panel_of[g] = batch.number * whole + g * kGroup - lane;
    }
  for (std::size_t level = 0; level + 1 < options_.network.neurons.size(); ++level)
    for (const std::size_t panel : panel_of)
      plan.key.push_back(SlicePass::dropout_key(batch.key, panel, level));
  return plan;
}

LossSum CudaTraining::add_gradients(const GradientRows& batch) {
  const BatchTargets targets(data_.train, targets_, options_.learning.loss, batch.rows, true);
  const TrainingSums sums =
      training_->add_gradients({batch.rows, targets.view(), 1.0 / batch.rows.size(), drop_plan(batch)},
                               batch.keep ? static_cast<int>(batch.number) : -1);
  return {sums.loss, sums.score};
}

LossSum CudaTraining::evaluate(const DataRows& data, std::span<const Index> rows, const std::stop_token&) {
  const BatchTargets targets(data, targets_, options_.learning.loss, rows, false);
  const TrainingSums sums =
      training_->evaluate(&data == &data_.train ? RowsPart::train : RowsPart::test, rows, targets.view());
  return {sums.loss, sums.score};
}

namespace {

// Samples that were kept on the device.
class DeviceGrowth final : public GrowthView {
 public:
  explicit DeviceGrowth(DeviceTraining& training) : training_(training) {}
  std::vector<double> costs(std::size_t l) const override { return training_.costs(l); }
  std::vector<Candidate> largest(std::size_t l, const Pattern& taken, std::size_t count,
                                 std::span<const std::uint32_t> outputs) const override {
    std::vector<Candidate> found;
    for (const PlacedGradient& at :
         training_.largest_gradients(l, taken.row_begin, taken.column, count, outputs))
      found.push_back({at.gradient, at.row, at.column});
    keep_largest(found, count);
    return found;
  }

 private:
  DeviceTraining& training_;
};

}  // namespace

std::unique_ptr<GrowthView> CudaTraining::growth() {
  return std::make_unique<DeviceGrowth>(*training_);
}

}  // namespace filigree::internal
