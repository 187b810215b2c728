// SPDX-License-Identifier: Apache-2.0
// spMV: y = A x for one input vector.
#pragma once

#include <span>

#include "sparse/csr.h"

namespace filigree {

// y[r] = the sum of A(r, c) * x[c] over the entries of row r; 0 for an empty row. x holds a.cols values,
// y a.rows, and they do not overlap. The same bits for any number of threads.
void spmv(const CsrView& a, std::span<const float> x, std::span<float> y);
void spmv_reference(const CsrView& a, std::span<const float> x, std::span<float> y);

}  // namespace filigree
