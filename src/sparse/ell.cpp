// SPDX-License-Identifier: Apache-2.0
// ELL: validation and conversion.
#include "filigree/sparse.h"

#include <algorithm>

#include "base/error.h"

namespace filigree {

using namespace internal;

namespace {

std::size_t places(const EllMatrix& m) {
  return static_cast<std::size_t>(m.rows) * m.width;
}

void validate_row(const EllMatrix& m, Index r, std::string_view what) {
  Index previous = -1;
  bool ended = false;
  for (Index k = 0; k < m.width; ++k) {
    const std::size_t place = static_cast<std::size_t>(r) * m.width + k;
    const Index c = m.column[place];
    if (c == kEllPadding) {
      ended = true;
      if (m.value[place] != 0)
        fail("{}: row {}, position {}: padding holds {}, not 0", what, r, k, m.value[place]);
      continue;
    }
    if (c < 0 || c >= m.cols) {
      fail("{}: row {}, position {}: column {}, but the matrix has {} columns", what, r, k, c, m.cols);
    }
    if (ended) fail("{}: row {}, position {}: column {} after padding", what, r, k, c);
    if (c <= previous) {
      fail("{}: row {}, position {}: column {} follows column {}; they must increase", what, r, k, c,
           previous);
    }
    previous = c;
  }
}

}  // namespace

void validate(const EllMatrix& m, std::string_view what) {
  if (m.rows < 0 || m.cols < 0 || m.width < 0) {
    fail("{}: {} rows, {} columns, width {}; none may be negative", what, m.rows, m.cols, m.width);
  }
  if (m.column.size() != places(m) || m.value.size() != places(m)) {
    fail("{}: {} columns and {} values, but {} rows of width {} need {}", what, m.column.size(),
         m.value.size(), m.rows, m.width, places(m));
  }
  for (Index r = 0; r < m.rows; ++r) validate_row(m, r, what);
}

EllMatrix to_ell(const CsrView& m) {
  EllMatrix ell;
  ell.rows = m.rows;
  ell.cols = m.cols;
  for (Index r = 0; r < m.rows; ++r) {
    ell.width = std::max(ell.width, static_cast<Index>(m.row_columns(r).size()));
  }
  ell.column.assign(places(ell), kEllPadding);
  ell.value.assign(places(ell), 0.0F);
  for (Index r = 0; r < m.rows; ++r) {
    const auto first = static_cast<std::ptrdiff_t>(r) * ell.width;
    std::ranges::copy(m.row_columns(r), ell.column.begin() + first);
    std::ranges::copy(m.row_values(r), ell.value.begin() + first);
  }
  return ell;
}

CsrMatrix to_csr(const EllMatrix& m) {
  CsrMatrix csr;
  csr.rows = m.rows;
  csr.cols = m.cols;
  csr.row_begin.reserve(static_cast<std::size_t>(m.rows) + 1);
  std::size_t place = 0;
  for (Index r = 0; r < m.rows; ++r) {
    for (Index k = 0; k < m.width; ++k, ++place) {
      if (m.column[place] == kEllPadding) continue;
      csr.column.push_back(m.column[place]);
      csr.value.push_back(m.value[place]);
    }
    csr.row_begin.push_back(csr.nnz());
  }
  return csr;
}

}  // namespace filigree
