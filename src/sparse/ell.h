// SPDX-License-Identifier: Apache-2.0
// ELLPACK: every row padded to one width, for matrices whose rows are about equally long.
#pragma once

#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "sparse/csr.h"

namespace filigree {

inline constexpr Index kEllPadding = -1;  // the column of a place that holds no entry

struct EllMatrix {
  Index rows = 0, cols = 0;
  Index width = 0;            // places per row
  std::vector<Index> column;  // rows * width, row by row: increasing columns, then kEllPadding
  std::vector<float> value;   // as column; 0 where padded

  bool operator==(const EllMatrix&) const = default;
};

// Throws Error naming the first place that breaks the format. Rows may be wider than the longest needs.
void validate(const EllMatrix& matrix, std::string_view what = "ELL matrix");

// The width is the length of the longest row: one long row among short ones makes a large matrix.
EllMatrix to_ell(const CsrView& matrix);
CsrMatrix to_csr(const EllMatrix& matrix);

}  // namespace filigree
