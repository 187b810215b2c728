// SPDX-License-Identifier: Apache-2.0
// spMMᵀ (filigree/sparse.h): what it means.
#pragma once

#include "filigree/sparse.h"

namespace filigree::internal {

void spmm_transposed_reference(const CscView& a, std::span<const float> x, std::size_t batch,
                               std::span<float> y);

}  // namespace filigree::internal
