// SPDX-License-Identifier: Apache-2.0
// The meaning of spMV, in double: truth must be nearer than any float order.
#include "kernels/spmv.h"

namespace filigree::internal {

void spmv_reference(const CsrView& a, std::span<const float> x, std::span<float> y) {
  for (Index r = 0; r < a.rows; ++r) {
    double sum = 0;
    for (Offset e = a.row_begin[r]; e < a.row_begin[r + 1]; ++e) sum += double{a.value[e]} * x[a.column[e]];
    y[r] = sum;
  }
}

}  // namespace filigree::internal
