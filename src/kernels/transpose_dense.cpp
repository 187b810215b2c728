// SPDX-License-Identifier: Apache-2.0
// Rows become columns: shares rows among threads and calls the body of the best SIMD target.
#include "filigree/sparse.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/transpose_dense.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/transpose_dense-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/grain.h"
#include "kernels/require_size.h"

namespace filigree::internal {

HWY_EXPORT(TransposeRows);

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void transpose(std::span<const float> from, std::size_t rows, std::size_t columns, std::span<float> to) {
  // Eight at a time: where rows of the result lie 4 KiB apart, as many lines as they are written to stay in
  // L1.
  constexpr std::size_t kTogether = 16;  // rows: a square high
  require_size("transpose", "from", from.size(), rows * columns);
  require_size("transpose", "to", to.size(), rows * columns);
  const std::size_t strips = (rows + kTogether - 1) / kTogether;
  parallel_for(strips, task_items(strips, rows * columns), [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(TransposeRows)
    (from.data(), rows, columns, first * kTogether, std::min(rows, last * kTogether), to.data());
  });
}

}  // namespace filigree
#endif  // HWY_ONCE
