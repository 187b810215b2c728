// SPDX-License-Identifier: Apache-2.0
// The meaning of count_bits.
#include "kernels/count_bits.h"
#include "kernels/packed.h"

namespace filigree::internal {

void count_bits_reference(const std::uint32_t* bits, const InputGroups& groups, float* x) {
  for (std::size_t n = 0; n + 1 < groups.begin.size(); ++n) {
    for (std::size_t r = 0; r < kPanelRows; ++r) {
      int count = 0;
      for (std::uint32_t i = groups.begin[n]; i < groups.begin[n + 1]; ++i)
        count += static_cast<int>(bits[groups.column[i]] >> r & 1);
      x[n * kPanelRows + r] = count;
    }
  }
}

}  // namespace filigree::internal
