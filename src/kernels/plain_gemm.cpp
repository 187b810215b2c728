// SPDX-License-Identifier: Apache-2.0
// Dispatch of plain_gemm to the best SIMD target of the CPU.
#include "kernels/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/plain_gemm.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/plain_gemm-inl.h"

#if HWY_ONCE

namespace filigree::internal {

HWY_EXPORT(PlainGemm);

void plain_gemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta,
                float* c, long c_stride) {
  HWY_DYNAMIC_DISPATCH(PlainGemm)(rows, cols, depth, a, b, beta, c, c_stride);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
