// SPDX-License-Identifier: Apache-2.0
// COO: validation, and conversion to CSR by two stable counting sorts.
#include "filigree/sparse.h"

#include <numeric>

#include "base/error.h"

namespace filigree {

using namespace internal;

namespace {

// Reorders entry numbers by key, keeping the order of equal keys. Keys lie in [0, bound).
std::vector<Offset> sorted_by(const std::vector<Index>& key, Index bound,
                              const std::vector<Offset>& entries) {
  std::vector<Offset> next(static_cast<std::size_t>(bound) + 1, 0);
  for (const Index k : key) ++next[k + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<Offset> sorted(entries.size());
  for (const Offset e : entries) sorted[next[key[e]]++] = e;
  return sorted;
}

}  // namespace

void validate(const CooMatrix& m, std::string_view what) {
  if (m.rows < 0 || m.cols < 0) {
    fail("{}: {} rows and {} columns; neither may be negative", what, m.rows, m.cols);
  }
  if (m.row.size() != m.value.size() || m.column.size() != m.value.size()) {
    fail("{}: {} rows, {} columns and {} values do not make triples", what, m.row.size(), m.column.size(),
         m.value.size());
  }
  for (std::size_t e = 0; e < m.value.size(); ++e) {
    if (m.row[e] < 0 || m.row[e] >= m.rows) {
      fail("{}: entry {}: row {}, but the matrix has {} rows", what, e, m.row[e], m.rows);
    }
    if (m.column[e] < 0 || m.column[e] >= m.cols) {
      fail("{}: entry {}: column {}, but the matrix has {} columns", what, e, m.column[e], m.cols);
    }
  }
}

CsrMatrix to_csr(const CooMatrix& m, Duplicates duplicates, std::string_view what) {
  validate(m, what);
  std::vector<Offset> order(m.value.size());
  std::iota(order.begin(), order.end(), Offset{0});
  order = sorted_by(m.row, m.rows, sorted_by(m.column, m.cols, order));

  CsrMatrix csr;
  csr.rows = m.rows;
  csr.cols = m.cols;
  csr.row_begin.assign(static_cast<std::size_t>(m.rows) + 1, 0);
  csr.column.reserve(order.size());
  csr.value.reserve(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Offset e = order[i];
    const bool repeats = i > 0 && m.row[e] == m.row[order[i - 1]] && m.column[e] == m.column[order[i - 1]];
    if (!repeats) {
      csr.column.push_back(m.column[e]);
      csr.value.push_back(m.value[e]);
      ++csr.row_begin[static_cast<std::size_t>(m.row[e]) + 1];
    } else if (duplicates == Duplicates::sum) {
      csr.value.back() += m.value[e];
    } else {
      fail("{}: entry {} repeats row {}, column {} of entry {}", what, e, m.row[e], m.column[e],
           order[i - 1]);
    }
  }
  std::partial_sum(csr.row_begin.begin(), csr.row_begin.end(), csr.row_begin.begin());
  return csr;
}

CooMatrix to_coo(const CsrView& m) {
  CooMatrix coo;
  coo.rows = m.rows;
  coo.cols = m.cols;
  coo.row.reserve(m.column.size());
  for (Index r = 0; r < m.rows; ++r) coo.row.insert(coo.row.end(), m.row_columns(r).size(), r);
  coo.column.assign(m.column.begin(), m.column.end());
  coo.value.assign(m.value.begin(), m.value.end());
  return coo;
}

}  // namespace filigree
