// SPDX-License-Identifier: Apache-2.0
// spMM and spMMᵀ: share outputs among threads and call the body of the best SIMD target.
#include "kernels/gather_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gather_rows.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/gather_rows-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/grain.h"
#include "kernels/require_size.h"
namespace filigree::internal {

HWY_EXPORT(GatherRows);

void gather_rows(const Gather& a, const float* x, std::size_t batch, float* y) {
  if (batch == 0) return;
  const std::size_t outputs = a.begin.size() - 1;
  parallel_for(outputs, task_items(outputs, (outputs + a.row.size()) * batch),
               [&](std::size_t first, std::size_t last) {
                 HWY_DYNAMIC_DISPATCH(GatherRows)(a, x, batch, y, first, last);
               });
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void spmm(const CsrView& a, std::span<const float> x, std::size_t batch, std::span<float> y) {
  require_size("spmm", "x", x.size(), a.cols * batch);
  require_size("spmm", "y", y.size(), a.rows * batch);
  gather_rows({a.row_begin, a.column, a.value}, x.data(), batch, y.data());
}

void spmm_transposed(const CscView& a, std::span<const float> x, std::size_t batch, std::span<float> y) {
  require_size("spmm_transposed", "x", x.size(), a.rows * batch);
  require_size("spmm_transposed", "y", y.size(), a.cols * batch);
  gather_rows({a.column_begin, a.row, a.value}, x.data(), batch, y.data());
}

}  // namespace filigree
#endif  // HWY_ONCE
