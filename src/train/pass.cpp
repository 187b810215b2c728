// SPDX-License-Identifier: Apache-2.0
#include "train/pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/activation.h"
#include "kernels/descent.h"
#include "kernels/dropout.h"
#include "kernels/load_panel.h"
#include "kernels/panel_pass.h"
#include "train/layer_pass.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

std::size_t padded(std::size_t samples) {
  return (samples + kLanes - 1) / kLanes * kLanes;
}

// The part of a sparse row that belongs to one sample.
struct SparseRow {
  std::span<const Index> column;
  std::span<const float> value;
};
SparseRow sparse_row(const DataRows& data, Index row) {
  const std::size_t first = data.row_begin[row];
  const std::size_t last = data.row_begin[row + 1];
  return {std::span(data.column).subspan(first, last - first),
          std::span(data.value).subspan(first, last - first)};
}

float scaled(float value, const InputScaling& scaling, Index feature) {
  return scaling.none() ? value : (value - scaling.mean_of(feature)) * scaling.scale_of(feature);
}

// y = W x + bias for sparse rows: only the features that occur are looked at. `value` holds what they are.
void multiply_sparse_rows(const TrainLayer& layer, const Batch& batch, const float* value, std::size_t stride,
                          float* y) {
  for (std::size_t o = 0; o < layer.bias.size(); ++o) std::fill_n(y + o * stride, stride, layer.bias[o]);
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const SparseRow row = sparse_row(batch.data, batch.rows[b]);
    for (std::size_t i = 0; i < row.column.size(); ++i, ++value) {
      const std::size_t feature = row.column[i];
      for (std::size_t e = layer.pattern.row_begin[feature]; e < layer.pattern.row_begin[feature + 1]; ++e)
        y[layer.pattern.column[e] * stride + b] += *value * layer.value[e];
    }
  }
}

void add_sparse_gradients(const TrainLayer& layer, const Batch& batch, const float* value, std::size_t stride,
                          const float* delta, float* gradient) {
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const SparseRow row = sparse_row(batch.data, batch.rows[b]);
    for (std::size_t i = 0; i < row.column.size(); ++i, ++value) {
      const std::size_t feature = row.column[i];
      for (std::size_t e = layer.pattern.row_begin[feature]; e < layer.pattern.row_begin[feature + 1]; ++e)
        gradient[e] += *value * delta[layer.pattern.column[e] * stride + b];
    }
  }
}

// The first `samples` of a panel, copied to where a record keeps all samples of a neuron together.
void copy_samples(const float* panel, std::size_t neurons, std::size_t stride, std::size_t samples,
                  std::size_t width, float* to) {
  for (std::size_t n = 0; n < neurons; ++n)
    std::memcpy(to + n * width, panel + n * stride, samples * sizeof(float));
}

// Sparse rows as a dense panel, for dense layers.
void load_sparse_rows(const Batch& batch, std::size_t features, std::size_t stride, float* x) {
  std::fill_n(x, features * stride, 0.0f);
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const SparseRow row = sparse_row(batch.data, batch.rows[b]);
    for (std::size_t i = 0; i < row.column.size(); ++i)
      x[row.column[i] * stride + b] = scaled(row.value[i], batch.scaling, row.column[i]);
  }
}

}  // namespace

Record::Record(const std::vector<TrainLayer>& network, std::size_t samples) : width(padded(samples)) {
  rows.assign(width, -1);
  for (std::size_t l = 0; l < network.size(); ++l) {
    const TrainLayer& layer = network[l];
    LayerRecord& record = layers.emplace_back();
    if (l > 0 || !layer.by_input) record.x = Buffer<float>(layer.inputs * width);
    record.delta = Buffer<float>(layer.outputs * width);
    record.x.zero();
    record.delta.zero();
  }
}

std::size_t SlicePass::panel_samples(const TrainOptions& options, std::size_t widest) {
  if (options.network.dense) return padded(widest);
  return widest > kLanes ? kWidePanelRows : kLanes;
}

SlicePass::SlicePass(const std::vector<TrainLayer>& layers, const TrainOptions& options, std::size_t widest)
    : options_(options),
      stride_(panel_samples(options, widest)),
      training_loss_(options.learning.loss, options.learning.label_smoothing, options.network.neurons.back(),
                     stride_),
      plain_loss_(options.learning.loss, 0, options.network.neurons.back(), stride_) {
  const std::size_t active = options.network.active_experts;
  const auto is = [](LayerRole role) {
    return [role](const TrainLayer& layer) { return layer.role == role; };
  };
  if (std::ranges::any_of(layers, is(LayerRole::gate))) panels_ = (widest + stride_ - 1) / stride_;
  for (std::size_t l = 0; l < layers.size() && leads_on(layers[l]); ++l) {
    Stage& stage = stages_.emplace_back();
    stage.layer = l;
    if (layers[l].role == LayerRole::chain) continue;
    MixturePlace place{0, l, 1};
    for (; l + 1 < layers.size() && is(LayerRole::expert)(layers[l + 1]) &&
           layers[l + 1].level == layers[l].level;
         ++l)
      ++place.experts;
    while (!is(LayerRole::gate)(layers[place.gate]) || layers[place.gate].level != layers[l].level)
      ++place.gate;
    stage.mixture = std::make_unique<MixturePass>(layers, place, active, stride_, panels_);
  }
  const TrainLayer& front = layers.front();
  level_size_.push_back(front.by_input ? 0 : front.inputs * stride_);
  std::size_t most = 0;
  for (const Stage& stage : stages_) {
    level_size_.push_back(layers[stage.layer].outputs * stride_);
    sum_.emplace_back(!stage.mixture && layers[stage.layer].activation.derivative_needs_sum()
                          ? panels_ * level_size_.back()
                          : 0);
    most = std::max(most, level_size_.back());
  }
  for (const std::size_t size : level_size_) activation_.emplace_back(panels_ * size);
  for (Buffer<float>& delta : delta_) delta = Buffer<float>(panels_ * most);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].role != LayerRole::exit) continue;
    Stage& stage = stages_[layers[l].level - 1];
    stage.exit = l;
    stage.exit_y = Buffer<float>(panels_ * level_size_.back());
    stage.exit_delta = Buffer<float>(panels_ * level_size_.back());
    exit_next_ = Buffer<float>(most);
  }
}

const Targets& Batch::plain_targets() {
  static const Targets plain;
  return plain;
}

Batch SlicePass::panel(const Batch& batch, std::size_t p) const {
  const std::size_t begin = p * stride_;
  return {batch.data, batch.scaling, batch.rows.subspan(begin, std::min(stride_, batch.rows.size() - begin)),
          batch.targets};
}

std::uint32_t SlicePass::dropout_key(std::uint64_t key, std::size_t first, std::size_t level) {
  return mix64(mix64(key + first / kLanes) + level);
}

std::uint32_t SlicePass::panel_key(const Step& step, std::size_t p, std::size_t level) const {
  return dropout_key(step.key, step.first + p * stride_, level);
}

void SlicePass::load(const std::vector<TrainLayer>& layers, const Batch& batch, std::size_t p,
                     const Step* step) {
  const std::size_t features = batch.data.features;
  const bool drop = step != nullptr && options_.learning.input_dropout > 0;
  const std::uint32_t key = drop ? panel_key(*step, p, 0) : 0;
  float* x = level(0, p);
  if (!layers.front().by_input) {
    if (batch.data.sparse())
      load_sparse_rows(batch, features, stride_, x);
    else if (!batch.data.bytes.empty())
      load_panel(batch.data.bytes, features, batch.rows, batch.scaling, stride_, x);
    else
      load_panel(batch.data.floats, features, batch.rows, batch.scaling, stride_, x);
    if (drop) drop_out(key, options_.learning.input_dropout, x, level_size_[0]);
    return;
  }
  occurring_.clear();
  for (const Index row : batch.rows) {
    const auto [column, value] = sparse_row(batch.data, row);
    for (std::size_t i = 0; i < value.size(); ++i)
      occurring_.push_back(scaled(value[i], batch.scaling, column[i]));
  }
  if (drop) {
    occurring_.resize(padded(occurring_.size()));
    drop_out(key, options_.learning.input_dropout, occurring_.data(), occurring_.size());
  }
}

void SlicePass::forward(const std::vector<TrainLayer>& layers, const Batch& batch, const Step* step) {
  const std::size_t panels = (batch.rows.size() + stride_ - 1) / stride_;
  for (std::size_t p = 0; p < panels; ++p) load(layers, panel(batch, p), p, step);
  for (std::size_t l = 0; l < stages_.size(); ++l) {
    Stage& stage = stages_[l];
    const TrainLayer& layer = layers[stage.layer];
    if (stage.mixture) stage.mixture->forward(layers, level(l, 0), batch.rows.size(), level(l + 1, 0));
    for (std::size_t p = 0; p < panels; ++p) {
      float* y = level(l + 1, p);
      float* sum = sum_[l].empty() ? nullptr : sum_[l].data() + p * level_size_[l + 1];
      if (l == 0 && layer.by_input) {
        multiply_sparse_rows(layer, batch, occurring_.data(), stride_, y);
        if (sum != nullptr) std::memcpy(sum, y, level_size_[1] * sizeof(float));
        apply_activation(layer.activation, {y, level_size_[1]});
      } else if (!stage.mixture) {
        forward_layer(layer, level(l, p), y, sum, stride_);
      }
      if (step != nullptr && options_.learning.dropout > 0 && l + 1 < stages_.size())
        drop_out(panel_key(*step, p, l + 1), options_.learning.dropout, y, level_size_[l + 1]);
      if (stage.exit != kNone && step != nullptr)
        forward_layer(layers[stage.exit], y, stage.exit_y.data() + p * level_size_.back(), nullptr, stride_);
    }
  }
}

// From the gradient at a level's neurons to that at the sums of the layer that leads there.
void SlicePass::finish_delta(const std::vector<TrainLayer>& layers, const Step& step, std::size_t l,
                             std::size_t p, float* delta) {
  const std::size_t size = level_size_[l];
  // A relu that dropped out shows as zero, which closes the gate; what is left is the scale of those kept.
  if (options_.learning.dropout > 0) drop_out(panel_key(step, p, l), options_.learning.dropout, delta, size);
  const Stage& below = stages_[l - 1];
  const TrainLayer& layer = layers[below.layer];
  if (below.mixture || layer.activation.is(Activation::relu)) return;  // done there; done by gating
  const std::span<const float> sum = sum_[l - 1].empty()
                                         ? std::span<const float>()
                                         : std::span<const float>(sum_[l - 1].data() + p * size, size);
  float* y = level(l, p);
  if (options_.learning.dropout > 0 && sum.empty()) {
    // The derivative is told by the output before dropout: undo the scale (dropped places are zero anyway).
    const auto share =
        static_cast<float>(1 - static_cast<double>(std::lround(options_.learning.dropout * 65536)) / 65536);
    for (std::size_t i = 0; i < size; ++i) y[i] *= share;
  }
  multiply_by_derivative(layer.activation, {y, size}, sum, {delta, size});
}

// What the record is to know of a layer: its inputs, level `l`, and the gradients at its outputs.
void SlicePass::keep(const std::vector<TrainLayer>& layers, const Step& step, std::size_t layer,
                     std::size_t l, std::size_t p, std::size_t samples, const float* delta) {
  if (step.record == nullptr) return;
  Record::LayerRecord& kept = step.record->layers[layer];
  const std::size_t first = step.first + p * stride_, width = step.record->width;
  if (delta != nullptr)
    copy_samples(delta, layers[layer].outputs, stride_, samples, width, kept.delta.data() + first);
  if (!kept.x.empty())
    copy_samples(level(l, p), layers[layer].inputs, stride_, samples, width, kept.x.data() + first);
}

// The same for a mixture: each expert's inputs here, the gradients by the mixture on its way back.
void SlicePass::keep_mixture(const std::vector<TrainLayer>& layers, const Batch& batch, const Step& step,
                             std::size_t l, MixturePass::Back& back) {
  if (step.record == nullptr) return;
  const MixturePlace& place = stages_[l].mixture->place();
  for (std::size_t e = 0; e < place.experts; ++e) {
    for (std::size_t p = 0; p * stride_ < batch.rows.size(); ++p)
      keep(layers, step, place.first + e, l, p, panel(batch, p).rows.size(), nullptr);
    back.delta_of.push_back(step.record->layers[place.first + e].delta.data() + step.first);
  }
  back.width = step.record->width;
}

void SlicePass::backward(std::vector<TrainLayer>& layers, const Batch& batch, const Step& step) {
  const std::size_t panels = (batch.rows.size() + stride_ - 1) / stride_;
  std::size_t now = 0;
  for (std::size_t l = stages_.size(); l-- > 0; now = 1 - now) {
    const Stage& stage = stages_[l];
    const bool gated =
        l > 0 && !stages_[l - 1].mixture && layers[stages_[l - 1].layer].activation.is(Activation::relu);
    if (stage.mixture) {
      MixturePass::Back back{delta_[now].data(), gated, l == 0 ? nullptr : delta_[1 - now].data(),
                             options_.network.balance * batch.rows.size() / step.batch_size};
      keep_mixture(layers, batch, step, l, back);
      stage.mixture->backward(layers, step.slice, level(l, 0), back);
      for (std::size_t p = 0; p < panels; ++p)
        keep(layers, step, stage.mixture->place().gate, l, p, panel(batch, p).rows.size(),
             stage.mixture->gate_delta(p));
    }
    for (std::size_t p = 0; p < panels; ++p) {
      const Batch part = panel(batch, p);
      float* next = l == 0 ? nullptr : delta_[1 - now].data() + p * level_size_[l];
      if (!stage.mixture) {
        TrainLayer& layer = layers[stage.layer];
        const float* delta = delta_[now].data() + p * level_size_[l + 1];
        keep(layers, step, stage.layer, l, p, part.rows.size(), delta);
        if (l == 0 && layer.by_input) {
          add_bias_gradient(layer, step.slice, delta, stride_);
          add_sparse_gradients(layer, batch, occurring_.data(), stride_, delta,
                               gradient_of(layer, step.slice).data());
        } else {
          backward_layer(layer, step.slice, level(l, p), delta, gated, next, stride_);
        }
      }
      if (l == 0) continue;
      const Stage& below = stages_[l - 1];
      if (below.exit != kNone) {
        const float* delta = below.exit_delta.data() + p * level_size_.back();
        keep(layers, step, below.exit, l, p, part.rows.size(), delta);
        backward_layer(layers[below.exit], step.slice, level(l, p), delta, gated, exit_next_.data(), stride_);
        add_to({next, level_size_[l]}, {exit_next_.data(), level_size_[l]});
      }
      finish_delta(layers, step, l, p, next);
    }
  }
}

LossSum SlicePass::loss(LossFunction& function, const Batch& batch, const float* y, double scale,
                        std::span<float> delta) {
  Outputs outputs{{y, level_size_.back()}, stride_};
  outputs.samples = batch.rows.size();
  if (fits(options_.learning.loss, Task::labels) || batch.data.label.empty()) {
    load_targets(batch.data, batch.targets.scaling, batch.rows, stride_, targets_);
    outputs.targets = targets_;
  } else {
    labels_.clear();
    for (const Index row : batch.rows) labels_.push_back(batch.data.label[row]);
    outputs.labels = labels_;
  }
  if (!delta.empty() && !batch.targets.weight.empty()) {
    weights_.clear();
    for (const Index row : batch.rows) weights_.push_back(batch.targets.weight[row]);
    outputs.weights = weights_;
  }
  return function(outputs, scale, delta);
}

LossSum SlicePass::train(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t batch_size,
                         std::size_t slice, std::uint64_t key, std::size_t first, Record* record) {
  LossSum total;
  const double scale = 1.0 / batch_size;
  const std::size_t together = panels_ * stride_;
  for (std::size_t begin = 0; begin < batch.rows.size(); begin += together) {
    const auto rows = batch.rows.subspan(begin, std::min(together, batch.rows.size() - begin));
    const Batch part{batch.data, batch.scaling, rows, batch.targets};
    const Step step{slice, batch_size, key, first + begin, record};
    forward(layers, part, &step);
    for (std::size_t p = 0; p * stride_ < rows.size(); ++p) {
      const std::size_t size = level_size_.back();
      const Batch one = panel(part, p);
      const LossSum sum =
          loss(training_loss_, one, level(stages_.size(), p), scale, {delta_[0].data() + p * size, size});
      total += sum;
      for (Stage& stage : stages_)
        if (stage.exit != kNone)
          loss(training_loss_, one, stage.exit_y.data() + p * size, options_.network.exit_weight * scale,
               {stage.exit_delta.data() + p * size, size});
    }
    if (record != nullptr)
      std::copy(rows.begin(), rows.end(), record->rows.begin() + static_cast<std::ptrdiff_t>(step.first));
    backward(layers, part, step);
  }
  return total;
}

LossSum SlicePass::evaluate(const std::vector<TrainLayer>& layers, const Batch& batch,
                            const std::stop_token& stop) {
  constexpr std::size_t kForgotten = 1 << 14;  // rows on disk that are let go together
  LossSum total;
  const std::size_t together = panels_ * stride_;
  std::size_t kept = 0;
  for (std::size_t begin = 0; begin < batch.rows.size() && !stop.stop_requested(); begin += together) {
    if (begin - kept >= kForgotten) {
      batch.data.forget(batch.rows[kept], batch.rows[begin]);
      kept = begin;
    }
    const auto rows = batch.rows.subspan(begin, std::min(together, batch.rows.size() - begin));
    const Batch part{batch.data, batch.scaling, rows, batch.targets};
    forward(layers, part, nullptr);
    for (std::size_t p = 0; p * stride_ < rows.size(); ++p) {
      const LossSum sum = loss(plain_loss_, panel(part, p), level(stages_.size(), p), 1, {});
      total += sum;
    }
  }
  return total;
}

}  // namespace filigree::internal
