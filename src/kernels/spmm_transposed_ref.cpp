// SPDX-License-Identifier: Apache-2.0
// The meaning of spMMᵀ, in double: truth must be nearer than any float order.
#include "kernels/spmm_transposed.h"

namespace filigree::internal {

void spmm_transposed_reference(const CscView& a, std::span<const float> x, std::size_t batch,
                               std::span<float> y) {
  for (Index c = 0; c < a.cols; ++c) {
    for (std::size_t b = 0; b < batch; ++b) {
      double sum = 0;
      for (Offset e = a.column_begin[c]; e < a.column_begin[c + 1]; ++e) {
        sum += double{a.value[e]} * x[a.row[e] * batch + b];
      }
      y[c * batch + b] = sum;
    }
  }
}

}  // namespace filigree::internal
