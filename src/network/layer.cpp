#include "network/layer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "kernels/activation.h"

namespace filigree {

double activate(const Layer& layer, double z) {
  return activation_reference(layer.activation, double{layer.slope}, double{layer.cap}, z);
}

Index largest_fan_in(const Layer& layer) {
  std::size_t largest = 0;
  for (Index r = 0; r < layer.outputs(); ++r)
    largest = std::max(largest, layer.weights.view().row_columns(r).size());
  return static_cast<Index>(largest);
}

bool zero_stays_zero(const Layer& layer) {
  if (layer.activation == Activation::sigmoid) return false;
  const bool below_too = layer.activation == Activation::relu;
  return std::ranges::all_of(layer.bias, [&](float b) { return b == 0 || (below_too && b < 0); });
}

void validate(const Layer& layer, std::string_view what) {
  validate(layer.weights.view(), what);
  if (layer.bias.size() != static_cast<std::size_t>(layer.outputs()))
    fail("{}: {} biases for {} neurons", what, layer.bias.size(), layer.outputs());
  for (std::size_t e = 0; e < layer.weights.value.size(); ++e)
    if (!std::isfinite(layer.weights.value[e])) fail("{}: weight {} is {}", what, e, layer.weights.value[e]);
  for (std::size_t n = 0; n < layer.bias.size(); ++n)
    if (!std::isfinite(layer.bias[n])) fail("{}: bias of neuron {} is {}", what, n, layer.bias[n]);
  if (layer.activation == Activation::relu && !(layer.cap > 0))
    fail("{}: the cap {} is not positive", what, layer.cap);
  if (!std::isfinite(layer.slope)) fail("{}: the slope is {}", what, layer.slope);
}

}  // namespace filigree
