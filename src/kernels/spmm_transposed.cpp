// SPDX-License-Identifier: Apache-2.0
// spMMᵀ: shares output neurons among threads and calls the body of the best SIMD target.
#include "kernels/spmm_transposed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmm_transposed.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/spmm_transposed-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/grain.h"
#include "kernels/require_size.h"
namespace filigree::internal {

HWY_EXPORT(spmm_transposed_columns);

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void spmm_transposed(const CscView& a, std::span<const float> x, std::size_t batch, std::span<float> y) {
  require_size("spmm_transposed", "x", x.size(), a.rows * batch);
  require_size("spmm_transposed", "y", y.size(), a.cols * batch);
  if (batch == 0) return;
  const std::size_t outputs = a.cols;
  const std::size_t work = (outputs + a.row.size()) * batch;
  parallel_for(outputs, task_items(outputs, work), [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(spmm_transposed_columns)
    (a, x.data(), batch, y.data(), static_cast<Index>(first), static_cast<Index>(last));
  });
}

}  // namespace filigree
#endif  // HWY_ONCE
