// SPDX-License-Identifier: Apache-2.0
// For tests: random sparse matrices, by seed and as a RapidCheck generator.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>

#include "filigree/sparse.h"

namespace filigree::internal {

// Each place of a row holds an entry with probability `density`; one row in eight is empty. No zeros.
CsrMatrix random_csr(Index rows, Index cols, double density, std::uint64_t seed);

// 0 to 20 columns and the given number of rows, from empty to full.
rc::Gen<CsrMatrix> any_csr_with_rows(Index rows);

// 0 to 20 rows and columns, from empty to full.
rc::Gen<CsrMatrix> any_csr();

// RapidCheck prints a failing matrix with this.
void showValue(const CsrMatrix& m, std::ostream& out);

}  // namespace filigree::internal
