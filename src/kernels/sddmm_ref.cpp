// SPDX-License-Identifier: Apache-2.0
// The meaning of SDDMM, in double: truth must be nearer than any float order.
#include "kernels/sddmm.h"

namespace filigree::internal {

void sddmm_reference(const CsrView& pattern, std::span<const float> a, std::span<const float> b,
                     std::size_t batch, std::span<float> value) {
  for (Index r = 0; r < pattern.rows; ++r) {
    for (Offset e = pattern.row_begin[r]; e < pattern.row_begin[r + 1]; ++e) {
      double sum = 0;
      for (std::size_t i = 0; i < batch; ++i) {
        sum += double{a[r * batch + i]} * b[pattern.column[e] * batch + i];
      }
      value[e] = sum;
    }
  }
}

}  // namespace filigree::internal
