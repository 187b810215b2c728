// SPDX-License-Identifier: Apache-2.0
// spMV (filigree/sparse.h): what it means.
#pragma once

#include "filigree/sparse.h"

namespace filigree::internal {

void spmv_reference(const CsrView& a, std::span<const float> x, std::span<float> y);

}  // namespace filigree::internal
