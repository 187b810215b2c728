// SPDX-License-Identifier: Apache-2.0
// What spMM of a matrix by rows and spMMᵀ of one by columns both are: sums of weighted rows.
#pragma once

#include <cstddef>
#include <span>

#include "filigree/sparse.h"

namespace filigree::internal {

// Output r is the sum of value[e] * (row row[e] of x) over e from begin[r] to begin[r + 1].
struct Gather {
  std::span<const Offset> begin;
  std::span<const Index> row;
  std::span<const float> value;
};

// y[r * batch + b] for every output r; sums start from zero and keep the order of the entries.
void gather_rows(const Gather& a, const float* x, std::size_t batch, float* y);

}  // namespace filigree::internal
