// SPDX-License-Identifier: Apache-2.0
// CSC: the CSR of the transposed matrix, with the words exchanged.
#include "filigree/sparse.h"

#include <utility>

#include "base/error.h"
#include "sparse/compressed.h"

namespace filigree {

using namespace internal;

void validate(const CscView& m, std::string_view what) {
  validate_compressed({"column", "row", m.cols, m.rows, m.column_begin, m.row}, what);
  if (m.value.size() != m.row.size())
    fail("{}: {} values for {} entries", what, m.value.size(), m.row.size());
}

CscMatrix to_csc(const CsrView& m) {
  CsrMatrix t = transpose(m);
  return {m.rows, m.cols, std::move(t.row_begin), std::move(t.column), std::move(t.value)};
}

CsrMatrix to_csr(const CscView& m) {
  return transpose(CsrView{m.cols, m.rows, m.column_begin, m.row, m.value});
}

}  // namespace filigree
