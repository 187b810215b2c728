// SPDX-License-Identifier: Apache-2.0
// Dispatch of count_bits to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/count_bits.cpp"  // NOLINT
#include <hwy/foreach_target.h>                      // IWYU pragma: keep

#include "kernels/count_bits-inl.h"

#if HWY_ONCE
namespace filigree::internal {

HWY_EXPORT(CountBits);

void count_bits(const std::uint32_t* bits, const InputGroups& groups, float* x) {
  HWY_DYNAMIC_DISPATCH(CountBits)(bits, groups, x);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
