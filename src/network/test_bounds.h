// SPDX-License-Identifier: Apache-2.0
// How far from the truth a network may be that computes in floats.
#pragma once

#include "network/layer.h"
#include "sparse/test_bounds.h"

namespace filigree::internal {

// For each output of a row. No activation is steeper than 1, and each is computed to a few units in the last
// place of a number not far from 1.
inline std::vector<double> error_bounds(std::span<const Layer> layers, const std::vector<double>& row) {
  Bounded x(row);
  for (const Layer& layer : layers) {
    x = bounded_product(layer.weights, layer.bias, x);
    for (std::size_t o = 0; o < x.value.size(); ++o) {
      x.value[o] = layer.activation(x.value[o]);
      x.error[o] += 8 * kUnitRoundoff * (1 + std::abs(x.value[o]));
    }
  }
  return x.error;
}

}  // namespace filigree::internal
