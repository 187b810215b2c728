// SPDX-License-Identifier: Apache-2.0
// What a row of outputs says.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// The largest output, the first of equals; -1 if one of them is NaN.
inline Index best_output(std::span<const float> outputs) {
  if (std::ranges::any_of(outputs, [](float o) { return std::isnan(o); })) return -1;
  return std::ranges::max_element(outputs) - outputs.begin();
}

// Makes probabilities of logits; in double, from the largest one down, so that nothing overflows.
inline void softmax(std::span<float> outputs) {
  const double largest = std::ranges::max(outputs);
  double sum = 0;
  for (const float o : outputs) sum += std::exp(o - largest);
  for (float& o : outputs) o = std::exp(o - largest) / sum;
}

}  // namespace filigree::internal
