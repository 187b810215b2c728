// SPDX-License-Identifier: Apache-2.0
// spMMᵀ: Y = Aᵀ X for a batch, the backward data pass of a sparse layer.
#pragma once

#include <cstddef>
#include <span>

#include "sparse/csc.h"

namespace filigree {

// y[c * batch + b] = the sum of A(r, c) * x[r * batch + b] over the entries of column c; 0 for an empty
// column. x holds a.rows * batch values, y a.cols * batch, and they do not overlap; batch >= 1.
// A comes by columns so that each output is gathered by one thread: the same bits for any number of
// threads, and for an input whatever else is in its batch.
void spmm_transposed(const CscView& a, std::span<const float> x, std::size_t batch, std::span<float> y);
void spmm_transposed_reference(const CscView& a, std::span<const float> x, std::size_t batch,
                               std::span<float> y);

}  // namespace filigree
