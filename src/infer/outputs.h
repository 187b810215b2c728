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

}  // namespace filigree::internal
