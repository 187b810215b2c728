// SPDX-License-Identifier: Apache-2.0
// BSR: validation and conversion, one block row at a time.
#include "filigree/sparse.h"

#include <algorithm>
#include <span>

#include "base/error.h"
#include "sparse/compressed.h"

namespace filigree {

using namespace internal;

namespace {

void validate_block_side(Index block, std::string_view what) {
  if (block != 2 && block != 4 && block != 8 && block != 16) {
    fail("{}: blocks of {} x {}; the side must be 2, 4, 8 or 16", what, block, block);
  }
}

std::size_t area(Index block) {
  return static_cast<std::size_t>(block) * block;
}

// Appends the block columns, sorted, in which the rows of `block_row` hold entries. `seen` holds the last
// block row that met each block column.
void append_block_columns(const CsrView& m, Index block, Index block_row, std::vector<Index>& seen,
                          std::vector<Index>& columns) {
  const std::ptrdiff_t old_size = columns.size();
  const Index first = block_row * block;
  for (Index r = first; r < m.rows && r - first < block; ++r) {
    for (const Index c : m.row_columns(r)) {
      if (seen[c / block] == block_row) continue;
      seen[c / block] = block_row;
      columns.push_back(c / block);
    }
  }
  std::sort(columns.begin() + old_size, columns.end());
}

}  // namespace

void validate(const BsrMatrix& m, std::string_view what) {
  validate_block_side(m.block, what);
  if (m.rows < 0 || m.cols < 0) {
    fail("{}: {} rows and {} columns; neither may be negative", what, m.rows, m.cols);
  }
  validate_compressed({"block row", "block column", m.block_rows(), m.block_cols(), m.row_begin, m.column},
                      what);
  if (m.value.size() != m.column.size() * area(m.block)) {
    fail("{}: {} values, but {} blocks of {} x {} need {}", what, m.value.size(), m.column.size(), m.block,
         m.block, m.column.size() * area(m.block));
  }
  std::size_t place = 0;
  for (Index block_row = 0; block_row < m.block_rows(); ++block_row) {
    for (Offset b = m.row_begin[block_row]; b < m.row_begin[block_row + 1]; ++b) {
      for (Index i = 0; i < m.block; ++i) {
        for (Index j = 0; j < m.block; ++j, ++place) {
          const Offset r = Offset{block_row} * m.block + i;
          const Offset c = Offset{m.column[b]} * m.block + j;
          if ((r >= m.rows || c >= m.cols) && m.value[place] != 0) {
            fail("{}: block {} holds {} at row {}, column {}, beyond {} x {}", what, b, m.value[place], r, c,
                 m.rows, m.cols);
          }
        }
      }
    }
  }
}

BsrMatrix to_bsr(const CsrView& m, Index block) {
  validate_block_side(block, "BSR matrix");
  BsrMatrix bsr;
  bsr.rows = m.rows;
  bsr.cols = m.cols;
  bsr.block = block;
  std::vector<Index> seen(bsr.block_cols(), -1);
  for (Index block_row = 0; block_row < bsr.block_rows(); ++block_row) {
    append_block_columns(m, block, block_row, seen, bsr.column);
    bsr.row_begin.push_back(bsr.blocks());
  }

  bsr.value.assign(bsr.column.size() * area(block), 0.0F);
  std::vector<Offset> block_at(bsr.block_cols());  // valid for the block columns of the present block row
  for (Index block_row = 0; block_row < bsr.block_rows(); ++block_row) {
    for (Offset b = bsr.row_begin[block_row]; b < bsr.row_begin[block_row + 1]; ++b)
      block_at[bsr.column[b]] = b;
    const Index first = block_row * block;
    for (Index r = first; r < m.rows && r - first < block; ++r) {
      for (Offset e = m.row_begin[r]; e < m.row_begin[r + 1]; ++e) {
        const Index c = m.column[e];
        bsr.value[block_at[c / block] * area(block) + (r - first) * block + c % block] = m.value[e];
      }
    }
  }
  return bsr;
}

CsrMatrix to_csr(const BsrMatrix& m) {
  CsrMatrix csr;
  csr.rows = m.rows;
  csr.cols = m.cols;
  csr.row_begin.reserve(static_cast<std::size_t>(m.rows) + 1);
  const std::span<const float> values = m.value;
  for (Index r = 0; r < m.rows; ++r) {
    const Index block_row = r / m.block;
    for (Offset b = m.row_begin[block_row]; b < m.row_begin[block_row + 1]; ++b) {
      const auto line = values.subspan(b * area(m.block) + (r % m.block) * m.block, m.block);
      for (Index j = 0; j < m.block; ++j) {
        if (line[j] == 0) continue;
        csr.column.push_back(m.column[b] * m.block + j);
        csr.value.push_back(line[j]);
      }
    }
    csr.row_begin.push_back(csr.nnz());
  }
  return csr;
}

}  // namespace filigree
