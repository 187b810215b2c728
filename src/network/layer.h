// A layer: y = activation(W x + b).
#pragma once

#include <limits>
#include <vector>

#include "sparse/csr.h"

namespace filigree {

inline constexpr float kNoCap = std::numeric_limits<float>::infinity();

struct Layer {
  CsrMatrix weights;        // one row per output neuron
  std::vector<float> bias;  // one per output neuron
  Activation activation = Activation::relu;
  float cap = kNoCap;  // relu: min(max(z, 0), cap)

  Index inputs() const { return weights.cols; }
  Index outputs() const { return weights.rows; }
  bool operator==(const Layer&) const = default;
};

Index largest_fan_in(const Layer& layer);

// Does a row of zeros come out as zeros? (relu, and no bias above zero)
bool zero_stays_zero(const Layer& layer);

// Throws Error if the parts do not fit or a number is not finite; `what` names the layer.
void validate(const Layer& layer, std::string_view what);

}  // namespace filigree
