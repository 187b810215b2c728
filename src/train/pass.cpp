#include "train/pass.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/activation.h"
#include "kernels/dropout.h"
#include "kernels/gemm.h"
#include "kernels/load_panel.h"
#include "kernels/panel_pass.h"

namespace filigree {

namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);

std::size_t padded(std::size_t samples) {
  return (samples + kLanes - 1) / kLanes * kLanes;
}

// Where an output says on which side of zero its sum was, the sum need not be kept.
bool needs_sum(const TrainLayer& layer) {
  return layer.activation == Activation::leaky_relu && layer.slope <= 0;
}

// delta *= the derivative of the activation, told by its output (or by the sum, for leaky_relu).
void multiply_by_derivative(const TrainLayer& layer, const float* y, const float* sum,
                            std::span<float> delta) {
  switch (layer.activation) {
    case Activation::identity:
      break;
    case Activation::relu:
      for (std::size_t i = 0; i < delta.size(); ++i) delta[i] = y[i] > 0 ? delta[i] : 0.0f;
      break;
    case Activation::leaky_relu: {
      const float* side = sum != nullptr ? sum : y;
      for (std::size_t i = 0; i < delta.size(); ++i) delta[i] *= side[i] > 0 ? 1.0f : layer.slope;
      break;
    }
    case Activation::sigmoid:
      for (std::size_t i = 0; i < delta.size(); ++i) delta[i] *= y[i] * (1 - y[i]);
      break;
    case Activation::tanh:
      for (std::size_t i = 0; i < delta.size(); ++i) delta[i] *= 1 - y[i] * y[i];
      break;
  }
}

// The part of a sparse row that belongs to one sample.
struct SparseRow {
  std::span<const Index> column;
  std::span<const float> value;
};
SparseRow sparse_row(const DataRows& data, Index row) {
  const auto first = static_cast<std::size_t>(data.row_begin[static_cast<std::size_t>(row)]);
  const auto last = static_cast<std::size_t>(data.row_begin[static_cast<std::size_t>(row) + 1]);
  return {std::span(data.column).subspan(first, last - first),
          std::span(data.value).subspan(first, last - first)};
}

// y = W x + bias for sparse rows: only the features that occur are looked at. `value` holds what they are.
void multiply_sparse_rows(const TrainLayer& layer, const Batch& batch, const float* value, std::size_t stride,
                          float* y) {
  for (std::size_t o = 0; o < layer.bias.size(); ++o) std::fill_n(y + o * stride, stride, layer.bias[o]);
  for (std::size_t b = 0; b < batch.rows.size(); ++b) {
    const SparseRow row = sparse_row(batch.data, batch.rows[b]);
    for (std::size_t i = 0; i < row.column.size(); ++i, ++value) {
      const auto feature = static_cast<std::size_t>(row.column[i]);
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
      const auto feature = static_cast<std::size_t>(row.column[i]);
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
      x[static_cast<std::size_t>(row.column[i]) * stride + b] = row.value[i];
  }
}

std::uint32_t dropout_key(std::uint64_t key, std::size_t layer) {
  return static_cast<std::uint32_t>(mix64(key + layer));
}

}  // namespace

Record::Record(const std::vector<TrainLayer>& network, std::size_t samples) : width(padded(samples)) {
  rows.assign(width, -1);
  for (std::size_t l = 0; l < network.size(); ++l) {
    const TrainLayer& layer = network[l];
    LayerRecord& record = layers.emplace_back();
    if (l > 0 || !layer.by_input) record.x = Buffer<float>(static_cast<std::size_t>(layer.inputs) * width);
    record.delta = Buffer<float>(static_cast<std::size_t>(layer.outputs) * width);
    record.x.zero();
    record.delta.zero();
  }
}

SlicePass::SlicePass(const std::vector<TrainLayer>& layers, const TrainOptions& options, std::size_t widest)
    : options_(options),
      stride_(options.dense     ? padded(widest)
              : widest > kLanes ? kWidePanelRows
                                : kLanes),
      training_loss_(options.loss, options.label_smoothing, static_cast<std::size_t>(layers.back().outputs),
                     stride_),
      plain_loss_(options.loss, 0, static_cast<std::size_t>(layers.back().outputs), stride_) {
  std::size_t most = 0;
  activation_.emplace_back(
      layers.front().by_input ? 0 : static_cast<std::size_t>(layers.front().inputs) * stride_);
  for (const TrainLayer& layer : layers) {
    const std::size_t size = static_cast<std::size_t>(layer.outputs) * stride_;
    activation_.emplace_back(size);
    sum_.emplace_back(needs_sum(layer) ? size : 0);
    most = std::max(most, size);
  }
  for (Buffer<float>& delta : delta_) delta = Buffer<float>(most);
}

void SlicePass::forward(const std::vector<TrainLayer>& layers, const Batch& batch, std::uint64_t key,
                        bool drop) {
  const auto features = static_cast<std::size_t>(batch.data.features);
  if (!layers.front().by_input) {
    float* x = activation_[0].data();
    const Affine affine{batch.scaling.mean, batch.scaling.scale};
    if (batch.data.sparse())
      load_sparse_rows(batch, features, stride_, x);
    else if (!batch.data.bytes.empty())
      load_panel(batch.data.bytes, features, batch.rows, affine, stride_, x);
    else
      load_panel(batch.data.floats, features, batch.rows, affine, stride_, x);
    if (drop && options_.input_dropout > 0)
      drop_out(dropout_key(key, 0), options_.input_dropout, x, activation_[0].size());
  } else {
    occurring_.clear();
    for (const Index row : batch.rows) {
      const std::span<const float> value = sparse_row(batch.data, row).value;
      occurring_.insert(occurring_.end(), value.begin(), value.end());
    }
    if (drop && options_.input_dropout > 0) {
      occurring_.resize(padded(occurring_.size()));
      drop_out(dropout_key(key, 0), options_.input_dropout, occurring_.data(), occurring_.size());
    }
  }
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const TrainLayer& layer = layers[l];
    const float* x = activation_[l].data();
    float* y = activation_[l + 1].data();
    const std::size_t size = activation_[l + 1].size();
    const bool relu = layer.activation == Activation::relu;
    if (layer.dense) {
      gemm(layer.outputs, static_cast<long>(stride_), layer.inputs, {layer.value.data(), layer.inputs, false},
           {x, static_cast<long>(stride_), false}, 0, y, static_cast<long>(stride_));
      for (std::size_t o = 0; o < layer.bias.size(); ++o) {
        float* row = y + o * stride_;
        const float bias = layer.bias[o];
        if (relu)
          for (std::size_t b = 0; b < stride_; ++b) row[b] = std::max(row[b] + bias, 0.0f);
        else
          for (std::size_t b = 0; b < stride_; ++b) row[b] += bias;
      }
    } else if (l > 0) {
      multiply_panel(layer.transposed, layer.transposed_value, layer.bias, {relu, nullptr}, x, y, stride_);
    } else if (layer.by_input) {
      multiply_sparse_rows(layer, batch, occurring_.data(), stride_, y);
      if (relu) apply_activation(layer.activation, layer.slope, {y, size});
    } else {
      multiply_panel(layer.pattern, layer.value, layer.bias, {relu, nullptr}, x, y, stride_);
    }
    if (!sum_[l].empty()) std::memcpy(sum_[l].data(), y, size * sizeof(float));
    if (!relu && layer.activation != Activation::identity)
      apply_activation(layer.activation, layer.slope, {y, size});
    if (drop && options_.dropout > 0 && l + 1 < layers.size())
      drop_out(dropout_key(key, l + 1), options_.dropout, y, size);
  }
}

void SlicePass::backward(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t slice,
                         std::uint64_t key) {
  const auto stride = static_cast<long>(stride_);
  std::size_t now = 0;
  for (std::size_t l = layers.size(); l-- > 0;) {
    TrainLayer& layer = layers[l];
    const float* delta = delta_[now].data();
    const float* x = activation_[l].data();
    const std::span<float> gradient =
        std::span(layer.gradient).subspan(slice * layer.value.size(), layer.value.size());
    if (record_ != nullptr) {
      Record::LayerRecord& kept = record_->layers[l];
      const std::size_t samples = batch.rows.size();
      copy_samples(delta, static_cast<std::size_t>(layer.outputs), stride_, samples, record_->width,
                   kept.delta.data() + first_);
      if (!kept.x.empty())
        copy_samples(x, static_cast<std::size_t>(layer.inputs), stride_, samples, record_->width,
                     kept.x.data() + first_);
    }
    add_row_sums(delta, layer.bias.size(),
                 std::span(layer.bias_gradient).subspan(slice * layer.bias.size(), layer.bias.size()),
                 stride_);
    if (layer.dense)
      gemm(layer.outputs, layer.inputs, stride, {delta, stride, false}, {x, stride, true}, 1, gradient.data(),
           layer.inputs);
    if (l == 0) {
      if (layer.by_input)
        add_sparse_gradients(layer, batch, occurring_.data(), stride_, delta, gradient.data());
      else if (!layer.dense)
        gradient_panel(layer.pattern, delta, x, gradient, stride_);
      break;
    }
    const TrainLayer& below = layers[l - 1];
    float* next = delta_[1 - now].data();
    const std::size_t size = activation_[l].size();
    const bool relu = below.activation == Activation::relu;
    if (layer.dense)
      gemm(layer.inputs, stride, layer.outputs, {layer.value.data(), layer.inputs, true},
           {delta, stride, false}, 0, next, stride);
    else
      backward_panel(layer.pattern, layer.value, relu, x, delta, next, gradient, stride_);
    // A relu that dropped out shows as zero, which closes the gate; what is left is the scale of those kept.
    if (options_.dropout > 0) drop_out(dropout_key(key, l), options_.dropout, next, size);
    if (!relu || layer.dense) {
      const float* sum = sum_[l - 1].empty() ? nullptr : sum_[l - 1].data();
      if (options_.dropout > 0 && !relu && sum == nullptr) {
        // The derivative is told by the output before dropout: undo the scale (dropped places are zero
        // anyway).
        const auto share =
            static_cast<float>(1 - static_cast<double>(std::lround(options_.dropout * 65536)) / 65536);
        for (std::size_t i = 0; i < size; ++i) activation_[l][i] *= share;
      }
      multiply_by_derivative(below, x, sum, {next, size});
    }
    now = 1 - now;
  }
}

LossSum SlicePass::loss(LossFunction& function, const Batch& batch, double scale, std::span<float> delta) {
  labels_.clear();
  for (const Index row : batch.rows) labels_.push_back(batch.data.label[static_cast<std::size_t>(row)]);
  return function({activation_.back(), stride_, labels_}, scale, delta);
}

LossSum SlicePass::train(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t batch_size,
                         std::size_t slice, std::uint64_t key, std::size_t first, Record* record) {
  LossSum total;
  record_ = record;
  for (std::size_t begin = 0; begin < batch.rows.size(); begin += stride_) {
    const auto rows = batch.rows.subspan(begin, std::min(stride_, batch.rows.size() - begin));
    const Batch part{batch.data, batch.scaling, rows};
    first_ = first + begin;
    const std::uint64_t part_key = mix64(key + first_ / kLanes);
    forward(layers, part, part_key, true);
    const LossSum sum = loss(training_loss_, part, 1.0 / static_cast<double>(batch_size),
                             {delta_[0].data(), activation_.back().size()});
    total.loss += sum.loss;
    total.correct += sum.correct;
    if (record != nullptr)
      std::copy(rows.begin(), rows.end(), record->rows.begin() + static_cast<std::ptrdiff_t>(first_));
    backward(layers, part, slice, part_key);
  }
  return total;
}

LossSum SlicePass::evaluate(const std::vector<TrainLayer>& layers, const Batch& batch) {
  LossSum total;
  for (std::size_t begin = 0; begin < batch.rows.size(); begin += stride_) {
    const auto rows = batch.rows.subspan(begin, std::min(stride_, batch.rows.size() - begin));
    const Batch part{batch.data, batch.scaling, rows};
    forward(layers, part, 0, false);
    const LossSum sum = loss(plain_loss_, part, 1, {});
    total.loss += sum.loss;
    total.correct += sum.correct;
  }
  return total;
}

}  // namespace filigree
