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
  float slope = 0;     // leaky_relu: z · slope below zero; any sign

  Index inputs() const { return weights.cols; }
  Index outputs() const { return weights.rows; }
  bool operator==(const Layer&) const = default;
};

// What a neuron of the layer makes of its sum.
double activate(const Layer& layer, double z);

Index largest_fan_in(const Layer& layer);

// Does a row of zeros come out as zeros? relu: no bias is above zero; sigmoid: never; others: every bias is
// zero.
bool zero_stays_zero(const Layer& layer);

// Throws Error if the parts do not fit or a number is not finite; `what` names the layer.
void validate(const Layer& layer, std::string_view what);

}  // namespace filigree
