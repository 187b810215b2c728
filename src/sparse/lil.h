// SPDX-License-Identifier: Apache-2.0
// A list of entries per row: the format for a topology that gains and loses connections one by one.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "sparse/csr.h"

namespace filigree {

struct LilEntry {
  Index column = 0;
  float value = 0;

  bool operator==(const LilEntry&) const = default;
};

// Rows and columns given to members lie inside the matrix. A search costs log(row length), a change the
// row length.
struct LilMatrix {
  Index rows = 0, cols = 0;
  std::vector<std::vector<LilEntry>> row;  // of each row, columns strictly increasing

  LilMatrix() = default;
  LilMatrix(Index row_count, Index column_count);  // without entries

  Offset nnz() const;
  std::optional<float> find(Index r, Index c) const;
  bool insert(Index r, Index c, float value);  // false, and nothing changes, where an entry already is
  bool erase(Index r, Index c);                // false where no entry is
  bool operator==(const LilMatrix&) const = default;
};

// Throws Error naming the first place that breaks the format.
void validate(const LilMatrix& matrix, std::string_view what = "LIL matrix");

LilMatrix to_lil(const CsrView& matrix);
CsrMatrix to_csr(const LilMatrix& matrix);

}  // namespace filigree
