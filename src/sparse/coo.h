// SPDX-License-Identifier: Apache-2.0
// Coordinate triples in any order: how matrices arrive from files and generators.
#pragma once

#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "sparse/csr.h"

namespace filigree {

struct CooMatrix {
  Index rows = 0, cols = 0;
  std::vector<Index> row, column;  // of each entry; any order, repeats allowed
  std::vector<float> value;

  Offset nnz() const { return value.size(); }
  bool operator==(const CooMatrix&) const = default;
};

enum class Duplicates { reject, sum };

// Throws Error naming the first entry that lies outside the matrix, or arrays of unequal length.
void validate(const CooMatrix& matrix, std::string_view what = "COO matrix");

// Validates, then sorts in time linear in rows + columns + entries. Entries at one place are summed in
// the order they came, or rejected with an Error that names both.
CsrMatrix to_csr(const CooMatrix& matrix, Duplicates duplicates = Duplicates::reject,
                 std::string_view what = "COO matrix");

// Entries row by row, columns increasing.
CooMatrix to_coo(const CsrView& matrix);

}  // namespace filigree
