// SPDX-License-Identifier: Apache-2.0
// spVV: the dot product of a sparse vector with a dense or a sparse one.
#pragma once

#include <span>

#include "filigree/vocabulary.h"

namespace filigree {

// A borrowed sparse vector, such as a row of a CsrView.
struct SparseVectorView {
  std::span<const Index> index;  // strictly increasing
  std::span<const float> value;  // as many
};

// The sum of a[i] * x[i] over the entries of `a`; all of its indices lie inside x.
float spvv(const SparseVectorView& a, std::span<const float> x);
float spvv_reference(const SparseVectorView& a, std::span<const float> x);

// The sum of a[i] * b[i] over the indices that both hold.
float spvv(const SparseVectorView& a, const SparseVectorView& b);
float spvv_reference(const SparseVectorView& a, const SparseVectorView& b);

}  // namespace filigree
