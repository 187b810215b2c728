// SPDX-License-Identifier: Apache-2.0
// spVV (filigree/sparse.h): what it means.
#pragma once

#include "filigree/sparse.h"

namespace filigree::internal {

float spvv_reference(const SparseVectorView& a, std::span<const float> x);
float spvv_reference(const SparseVectorView& a, const SparseVectorView& b);

}  // namespace filigree::internal
