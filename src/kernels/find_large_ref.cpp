// SPDX-License-Identifier: Apache-2.0
// What finding large values means, one value at a time.
#include <cmath>

#include "kernels/find_large.h"

namespace filigree::internal {

std::size_t find_large_reference(std::span<const float> values, float bound, std::uint32_t* index) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::fabs(values[i]) >= bound) index[found++] = i;
  return found;
}

}  // namespace filigree::internal
