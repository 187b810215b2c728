// SPDX-License-Identifier: Apache-2.0
// Dispatch of dropout to the best SIMD target of the CPU.
#include "kernels/dropout.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dropout.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/dropout-inl.h"

#if HWY_ONCE
#include <cmath>

namespace filigree::internal {

HWY_EXPORT(DropOut);

void drop_out(std::uint32_t key, double rate, float* x, std::size_t count) {
  const auto threshold = static_cast<std::uint32_t>(std::lround(rate * 65536));
  const auto scale = static_cast<float>(1 / (1 - threshold / 65536.0));
  HWY_DYNAMIC_DISPATCH(DropOut)(key, threshold, scale, x, count);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
