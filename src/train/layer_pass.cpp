// SPDX-License-Identifier: Apache-2.0
#include "train/layer_pass.h"

#include <algorithm>
#include <cstring>

#include "kernels/activation.h"
#include "kernels/gemm.h"
#include "kernels/panel_pass.h"

namespace filigree::internal {

namespace {

void multiply_dense(const TrainLayer& layer, const float* x, float* y, std::size_t stride) {
  const long width = stride;
  gemm(layer.outputs, width, layer.inputs, {layer.value.data(), layer.inputs, false}, {x, width, false}, 0, y,
       width);
  const bool relu = layer.activation.is(Activation::relu);
  for (std::size_t o = 0; o < layer.bias.size(); ++o) {
    float* row = y + o * stride;
    const float bias = layer.bias[o];
    if (relu)
      for (std::size_t b = 0; b < stride; ++b) row[b] = std::max(row[b] + bias, 0.0f);
    else
      for (std::size_t b = 0; b < stride; ++b) row[b] += bias;
  }
}

}  // namespace

void forward_layer(const TrainLayer& layer, const float* x, float* y, float* sum, std::size_t stride) {
  const std::size_t size = layer.outputs * stride;
  const bool relu = layer.activation.is(Activation::relu);
  if (layer.dense)
    multiply_dense(layer, x, y, stride);
  else if (layer.transposed.rows > 0)
    multiply_panel(layer.transposed, layer.transposed_value, layer.bias, {relu, nullptr}, x, y, stride);
  else
    multiply_panel(layer.pattern, layer.value, layer.bias, {relu, nullptr}, x, y, stride);
  if (sum != nullptr) std::memcpy(sum, y, size * sizeof(float));
  if (!layer.activation.in_epilogue()) apply_activation(layer.activation, {y, size});
}

std::span<float> gradient_of(TrainLayer& layer, std::size_t slice) {
  return std::span(layer.gradient).subspan(slice * layer.value.size(), layer.value.size());
}

void add_bias_gradient(TrainLayer& layer, std::size_t slice, const float* delta, std::size_t stride) {
  const std::size_t outputs = layer.bias.size();
  add_row_sums(delta, outputs, std::span(layer.bias_gradient).subspan(slice * outputs, outputs), stride);
}

void backward_layer(TrainLayer& layer, std::size_t slice, const float* x, const float* delta, bool gated,
                    float* next, std::size_t stride) {
  const std::span<float> gradient = gradient_of(layer, slice);
  add_bias_gradient(layer, slice, delta, stride);
  if (!layer.dense) {
    if (next == nullptr)
      gradient_panel(layer.pattern, delta, x, gradient, stride);
    else
      backward_panel(layer.pattern, layer.value, gated, x, delta, next, gradient, stride);
    return;
  }
  const long width = stride;
  gemm(layer.outputs, layer.inputs, width, {delta, width, false}, {x, width, true}, 1, gradient.data(),
       layer.inputs);
  if (next == nullptr) return;
  gemm(layer.inputs, width, layer.outputs, {layer.value.data(), layer.inputs, true}, {delta, width, false}, 0,
       next, width);
  for (std::size_t i = 0; gated && i < layer.inputs * stride; ++i) next[i] = x[i] > 0 ? next[i] : 0.0f;
}

}  // namespace filigree::internal
