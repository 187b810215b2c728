// SPDX-License-Identifier: Apache-2.0
// CSR: validation, full matrices, and transposition by counting.
#include "filigree/sparse.h"

#include <numeric>

#include "base/error.h"
#include "sparse/compressed.h"

namespace filigree {

using namespace internal;

void validate(const CsrView& m, std::string_view what) {
  validate_compressed({"row", "column", m.rows, m.cols, m.row_begin, m.column}, what);
  if (m.value.size() != m.column.size()) {
    fail("{}: {} values for {} entries", what, m.value.size(), m.column.size());
  }
}

CsrMatrix full_matrix(Index rows, Index cols, std::vector<float> value) {
  CsrMatrix m;
  m.rows = rows;
  m.cols = cols;
  m.row_begin.resize(static_cast<std::size_t>(rows) + 1);
  for (std::size_t r = 0; r < m.row_begin.size(); ++r) m.row_begin[r] = static_cast<Offset>(r) * cols;
  m.column.resize(value.size());
  for (Index r = 0; r < rows; ++r)
    std::iota(m.column.begin() + m.row_begin[r], m.column.begin() + m.row_begin[r + 1], 0);
  m.value = std::move(value);
  return m;
}

bool is_full(const CsrView& m) {
  return m.rows > 0 && m.cols > 0 && m.nnz() == static_cast<Offset>(m.rows) * m.cols;
}

CsrMatrix transpose(const CsrView& m) {
  CsrMatrix t;
  t.rows = m.cols;
  t.cols = m.rows;
  t.row_begin.assign(static_cast<std::size_t>(t.rows) + 1, 0);
  t.column.resize(m.column.size());
  t.value.resize(m.value.size());

  for (const Index c : m.column) ++t.row_begin[c + 1];
  std::partial_sum(t.row_begin.begin(), t.row_begin.end(), t.row_begin.begin());

  // Rows are visited in order, so each new row receives its columns in order.
  std::vector<Offset> next(t.row_begin.begin(), t.row_begin.end() - 1);
  for (Index r = 0; r < m.rows; ++r) {
    for (Offset e = m.row_begin[r]; e < m.row_begin[r + 1]; ++e) {
      const Offset place = next[m.column[e]]++;
      t.column[place] = r;
      t.value[place] = m.value[e];
    }
  }
  return t;
}

}  // namespace filigree
