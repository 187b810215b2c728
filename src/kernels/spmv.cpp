// SPDX-License-Identifier: Apache-2.0
// spMV: shares rows among threads and calls the body of the best SIMD target.
#include "kernels/spmv.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmv.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/spmv-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/grain.h"
#include "kernels/require_size.h"
namespace filigree::internal {

HWY_EXPORT(spmv_rows);

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void spmv(const CsrView& a, std::span<const float> x, std::span<float> y) {
  require_size("spmv", "x", x.size(), a.cols);
  require_size("spmv", "y", y.size(), a.rows);
  const std::size_t rows = a.rows;
  parallel_for(rows, task_items(rows, rows + a.column.size()), [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(spmv_rows)
    (a, x.data(), y.data(), static_cast<Index>(first), static_cast<Index>(last));
  });
}

}  // namespace filigree
#endif  // HWY_ONCE
