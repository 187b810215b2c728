// SPDX-License-Identifier: Apache-2.0
// Block sparse rows: square dense blocks, for networks whose connections come in groups.
#pragma once

#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "sparse/csr.h"

namespace filigree {

struct BsrMatrix {
  Index rows = 0, cols = 0;  // of the matrix itself; the last blocks may reach beyond, with zeros there
  Index block = 2;           // the side of a block: 2, 4, 8 or 16
  std::vector<Offset> row_begin = {0};  // first block of each block row; block_rows() + 1
  std::vector<Index> column;  // of each block, counted in blocks; strictly increasing in a block row
  std::vector<float> value;   // block * block per block, row by row

  Index block_rows() const { return rows / block + (rows % block != 0); }
  Index block_cols() const { return cols / block + (cols % block != 0); }
  Offset blocks() const { return column.size(); }
  bool operator==(const BsrMatrix&) const = default;
};

// Throws Error naming the first place that breaks the format, non-zero padding included.
void validate(const BsrMatrix& matrix, std::string_view what = "BSR matrix");

// Keeps exactly the blocks that hold an entry; the rest of such a block becomes zeros. Throws Error when
// `block` is not 2, 4, 8 or 16.
BsrMatrix to_bsr(const CsrView& matrix, Index block);

// Drops exact zeros (0 and -0), since a block does not tell an entry of value zero from a filled place:
// CSR -> BSR -> CSR loses explicit zeros and nothing else.
CsrMatrix to_csr(const BsrMatrix& matrix);

}  // namespace filigree
