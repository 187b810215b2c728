// SPDX-License-Identifier: Apache-2.0
// LIL: element access, validation and conversion.
#include "filigree/sparse.h"

#include <algorithm>
#include <cassert>

#include "base/error.h"

namespace filigree {

using namespace internal;

namespace {

// The first entry of a sorted row at column c or beyond.
template <typename Row>
auto place_of(Row& row, Index c) {
  return std::ranges::lower_bound(row, c, {}, &LilEntry::column);
}

}  // namespace

LilMatrix::LilMatrix(Index row_count, Index column_count)
    : rows(row_count), cols(column_count), row(row_count) {}

Offset LilMatrix::nnz() const {
  Offset total = 0;
  for (const auto& entries : row) total += static_cast<Offset>(entries.size());
  return total;
}

std::optional<float> LilMatrix::find(Index r, Index c) const {
  assert(r >= 0 && r < rows && c >= 0 && c < cols);
  const auto place = place_of(row[r], c);
  if (place == row[r].end() || place->column != c) return std::nullopt;
  return place->value;
}

bool LilMatrix::insert(Index r, Index c, float value) {
  assert(r >= 0 && r < rows && c >= 0 && c < cols);
  const auto place = place_of(row[r], c);
  if (place != row[r].end() && place->column == c) return false;
  row[r].insert(place, {c, value});
  return true;
}

bool LilMatrix::erase(Index r, Index c) {
  assert(r >= 0 && r < rows && c >= 0 && c < cols);
  const auto place = place_of(row[r], c);
  if (place == row[r].end() || place->column != c) return false;
  row[r].erase(place);
  return true;
}

void validate(const LilMatrix& m, std::string_view what) {
  if (m.rows < 0 || m.cols < 0) {
    fail("{}: {} rows and {} columns; neither may be negative", what, m.rows, m.cols);
  }
  if (m.row.size() != static_cast<std::size_t>(m.rows)) {
    fail("{}: {} lists, but the matrix has {} rows", what, m.row.size(), m.rows);
  }
  for (Index r = 0; r < m.rows; ++r) {
    Index previous = -1;
    for (const auto& [column, value] : m.row[r]) {
      if (column < 0 || column >= m.cols) {
        fail("{}: row {}: column {}, but the matrix has {} columns", what, r, column, m.cols);
      }
      if (column <= previous) {
        fail("{}: row {}: column {} follows column {}; they must increase", what, r, column, previous);
      }
      previous = column;
    }
  }
}

LilMatrix to_lil(const CsrView& m) {
  LilMatrix lil(m.rows, m.cols);
  for (Index r = 0; r < m.rows; ++r) {
    lil.row[r].reserve(m.row_columns(r).size());
    for (Offset e = m.row_begin[r]; e < m.row_begin[r + 1]; ++e)
      lil.row[r].push_back({m.column[e], m.value[e]});
  }
  return lil;
}

CsrMatrix to_csr(const LilMatrix& m) {
  CsrMatrix csr;
  csr.rows = m.rows;
  csr.cols = m.cols;
  csr.row_begin.reserve(m.row.size() + 1);
  csr.column.reserve(m.nnz());
  csr.value.reserve(m.nnz());
  for (const auto& entries : m.row) {
    for (const auto& [column, value] : entries) {
      csr.column.push_back(column);
      csr.value.push_back(value);
    }
    csr.row_begin.push_back(csr.nnz());
  }
  return csr;
}

}  // namespace filigree
