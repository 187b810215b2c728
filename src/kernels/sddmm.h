// SPDX-License-Identifier: Apache-2.0
// SDDMM (filigree/sparse.h): what it means.
#pragma once

#include "filigree/sparse.h"

namespace filigree::internal {

void sddmm_reference(const CsrView& pattern, std::span<const float> a, std::span<const float> b,
                     std::size_t batch, std::span<float> value);

}  // namespace filigree::internal
