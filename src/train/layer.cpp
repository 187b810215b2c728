// SPDX-License-Identifier: Apache-2.0
#include "train/layer.h"

#include "kernels/descent.h"

namespace filigree::internal {

namespace {

std::size_t bytes(const std::vector<float>& values) {
  return values.size() * sizeof(float);
}

}  // namespace

std::size_t TrainLayer::parameter_bytes() const {
  return pattern.bytes() + bytes(value) + bytes(first) + bytes(second) + bytes(value) /* one gradient */ +
         4 * bytes(bias);
}

std::size_t TrainLayer::workspace_bytes() const {
  return transposed.bytes() + bytes(transposed_value) + bytes(gradient) - bytes(value);
}

std::vector<std::size_t> levels_of(const std::vector<TrainLayer>& layers) {
  std::vector<std::size_t> levels;
  std::size_t reached = 0;
  for (const TrainLayer& layer : layers) {
    levels.push_back(layer.role == LayerRole::chain ? reached : layer.level);
    if (leads_on(layer)) reached = levels.back() + 1;
  }
  return levels;
}

void refresh_transposed(TrainLayer& layer) {
  if (layer.transposed.rows == 0) return;
  std::vector<std::uint32_t> cursor(layer.transposed.rows);
  transpose_values(layer.pattern, layer.value, layer.transposed, cursor, layer.transposed_value);
}

void resize_state(TrainLayer& layer, Optimizer optimizer, std::size_t slices) {
  const bool momentum = moments_of(optimizer) > 0, squares = moments_of(optimizer) > 1;
  layer.first.resize(momentum ? layer.value.size() : 0, 0.0f);
  layer.second.resize(squares ? layer.value.size() : 0, 0.0f);
  layer.bias_first.resize(momentum ? layer.bias.size() : 0, 0.0f);
  layer.bias_second.resize(squares ? layer.bias.size() : 0, 0.0f);
  layer.gradient.assign(slices * layer.value.size(), 0.0f);
  layer.bias_gradient.assign(slices * layer.bias.size(), 0.0f);
}

bool gives_outputs(const std::vector<TrainLayer>& layers, std::size_t l) {
  if (layers[l].role == LayerRole::exit) return true;
  return leads_on(layers[l]) && (l + 1 == layers.size() || !leads_on(layers[l + 1]));
}

Layer to_layer(const TrainLayer& layer) {
  Layer result;
  if (layer.dense) {
    result.weights = full_matrix(layer.outputs, layer.inputs, layer.value);
  } else {
    result.weights = to_csr(layer.pattern, layer.value);
    if (layer.by_input) result.weights = transpose(result.weights.view());
  }
  result.bias = layer.bias;
  result.activation = layer.activation;
  return result;
}

void set_connections(TrainLayer& layer, const Layer& source, bool reads_neurons) {
  layer.bias = source.bias;
  layer.first.clear();
  layer.second.clear();
  if (layer.dense) {
    layer.value = source.weights.value;
    return;
  }
  const CsrMatrix weights = layer.by_input ? transpose(source.weights.view()) : source.weights;
  layer.pattern = to_pattern(weights.view());
  layer.value = weights.value;
  if (reads_neurons) layer.transposed = transpose(layer.pattern);
  layer.transposed_value.resize(layer.transposed.nnz());
  refresh_transposed(layer);
}

}  // namespace filigree::internal
