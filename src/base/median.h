// SPDX-License-Identifier: Apache-2.0
// The middle of a few measurements.
#pragma once

#include <algorithm>
#include <vector>

namespace filigree::internal {

// Of one value at least; of an even number, the mean of the two in the middle.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace filigree::internal
