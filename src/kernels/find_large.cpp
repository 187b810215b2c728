// SPDX-License-Identifier: Apache-2.0
// Dispatch of find_large to the best SIMD target of the CPU.
#include "kernels/find_large.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/find_large.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/find_large-inl.h"

#if HWY_ONCE

namespace filigree::internal {

HWY_EXPORT(FindLarge);

std::size_t find_large(std::span<const float> values, float bound, std::uint32_t* place) {
  return HWY_DYNAMIC_DISPATCH(FindLarge)(values.data(), values.size(), bound, place);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
