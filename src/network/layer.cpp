// SPDX-License-Identifier: Apache-2.0
#include "network/layer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace filigree::internal {

Index largest_fan_in(const Layer& layer) {
  std::size_t largest = 0;
  for (Index r = 0; r < layer.outputs(); ++r)
    largest = std::max(largest, layer.weights.view().row_columns(r).size());
  return largest;
}

bool zero_stays_zero(const Layer& layer) {
  return std::ranges::all_of(layer.bias, [&](float b) { return layer.activation.gives_zero(b); });
}

Layer expert_of(const Layer& mixture, Index expert) {
  const Index rows = mixture.outputs();
  const CsrMatrix& all = mixture.weights;
  const auto first = static_cast<std::ptrdiff_t>(expert) * rows;
  const Offset begin = all.row_begin[first];
  const Offset end = all.row_begin[first + rows];
  Layer layer{{rows, all.cols, {}, {}, {}}, {}, mixture.activation};
  for (std::ptrdiff_t r = first; r <= first + rows; ++r)
    layer.weights.row_begin.push_back(all.row_begin[r] - begin);
  layer.weights.column.assign(all.column.begin() + begin, all.column.begin() + end);
  layer.weights.value.assign(all.value.begin() + begin, all.value.begin() + end);
  layer.bias.assign(mixture.bias.begin() + first, mixture.bias.begin() + first + rows);
  return layer;
}

void append_expert(Layer& mixture, const Layer& expert) {
  CsrMatrix& all = mixture.weights;
  const Offset before = all.nnz();
  for (std::size_t r = 1; r < expert.weights.row_begin.size(); ++r)
    all.row_begin.push_back(before + expert.weights.row_begin[r]);
  all.rows += expert.weights.rows;
  all.column.insert(all.column.end(), expert.weights.column.begin(), expert.weights.column.end());
  all.value.insert(all.value.end(), expert.weights.value.begin(), expert.weights.value.end());
  mixture.bias.insert(mixture.bias.end(), expert.bias.begin(), expert.bias.end());
}

void validate(const Layer& layer, std::string_view what) {
  validate(layer.weights.view(), what);
  if (layer.gate) {
    const Gate& gate = *layer.gate;
    validate(Layer{gate.weights, gate.bias, Activation::identity}, fmt::format("{}, gate", what));
    if (gate.weights.rows < 1 || layer.weights.rows % gate.weights.rows != 0)
      fail("{}: {} neurons cannot be divided among {} experts", what, layer.weights.rows, gate.weights.rows);
    if (gate.weights.cols != layer.weights.cols)
      fail("{}: the gate reads {} inputs, the experts {}", what, gate.weights.cols, layer.weights.cols);
    if (gate.active < 1 || gate.active > gate.weights.rows)
      fail("{}: {} of {} experts cannot be active", what, gate.active, gate.weights.rows);
  }
  if (layer.bias.size() != static_cast<std::size_t>(layer.weights.rows))
    fail("{}: {} biases for {} neurons", what, layer.bias.size(), layer.weights.rows);
  for (std::size_t e = 0; e < layer.weights.value.size(); ++e)
    if (!std::isfinite(layer.weights.value[e])) fail("{}: weight {} is {}", what, e, layer.weights.value[e]);
  for (std::size_t n = 0; n < layer.bias.size(); ++n)
    if (!std::isfinite(layer.bias[n])) fail("{}: bias of neuron {} is {}", what, n, layer.bias[n]);
  const ActivationFunction& activation = layer.activation;
  if (activation.is(Activation::relu) && !(activation.cap > 0))
    fail("{}: the cap {} is not positive", what, activation.cap);
  if (!std::isfinite(activation.slope)) fail("{}: the slope is {}", what, activation.slope);
}

}  // namespace filigree::internal
