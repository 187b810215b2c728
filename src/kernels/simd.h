// SPDX-License-Identifier: Apache-2.0
// Which SIMD target the kernels use on this CPU.
#pragma once

#include <string>

namespace filigree {

std::string simd_target_name();  // "AVX3_DL", "AVX2", …

}  // namespace filigree
