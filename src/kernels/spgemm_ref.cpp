// SPDX-License-Identifier: Apache-2.0
// The meaning of SpGEMM, in double: truth must be nearer than any float order.
#include <map>

#include "kernels/spgemm.h"

namespace filigree::internal {

CsrMatrix spgemm_reference(const CsrView& a, const CsrView& b) {
  CsrMatrix c;
  c.rows = a.rows;
  c.cols = b.cols;
  for (Index i = 0; i < a.rows; ++i) {
    std::map<Index, double> sums;
    for (Offset e = a.row_begin[i]; e < a.row_begin[i + 1]; ++e) {
      const Index k = a.column[e];
      for (Offset f = b.row_begin[k]; f < b.row_begin[k + 1]; ++f) {
        sums[b.column[f]] += double{a.value[e]} * b.value[f];
      }
    }
    for (const auto& [j, sum] : sums) {
      c.column.push_back(j);
      c.value.push_back(sum);
    }
    c.row_begin.push_back(c.nnz());
  }
  return c;
}

}  // namespace filigree::internal
