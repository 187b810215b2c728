// SPDX-License-Identifier: Apache-2.0
// Dispatch of softmax to the best SIMD target of the CPU.
#include "kernels/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/softmax-inl.h"

#if HWY_ONCE

namespace filigree::internal {

HWY_EXPORT(Softmax);

void softmax(std::size_t classes, std::size_t stride, const float* y, float* share, float* highest,
             float* log_sum) {
  HWY_DYNAMIC_DISPATCH(Softmax)(classes, stride, y, share, highest, log_sum);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
