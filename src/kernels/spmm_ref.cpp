// SPDX-License-Identifier: Apache-2.0
// The meaning of SpMM.
#include "kernels/spmm.h"

namespace filigree::internal {

void spmm_reference(const CsrView& w, std::span<const float> x, std::size_t batch, std::span<float> y) {
  for (Index r = 0; r < w.rows; ++r) {
    const auto columns = w.row_columns(r);
    const auto values = w.row_values(r);
    for (std::size_t b = 0; b < batch; ++b) {
      double sum = 0;  // double: truth must be nearer than any float order
      for (std::size_t e = 0; e < columns.size(); ++e)
        sum += double{values[e]} * double{x[columns[e] * batch + b]};
      y[r * batch + b] = sum;
    }
  }
}

}  // namespace filigree::internal
