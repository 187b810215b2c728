// SPDX-License-Identifier: Apache-2.0
// SDDMM: shares entries among threads and calls the body of the best SIMD target.
#include "kernels/sddmm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sddmm.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/sddmm-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/grain.h"
#include "kernels/require_size.h"
namespace filigree::internal {

HWY_EXPORT(sddmm_entries);

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void sddmm(const CsrView& pattern, std::span<const float> a, std::span<const float> b, std::size_t batch,
           std::span<float> value) {
  require_size("sddmm", "a", a.size(), pattern.rows * batch);
  require_size("sddmm", "b", b.size(), pattern.cols * batch);
  require_size("sddmm", "value", value.size(), pattern.column.size());
  const std::size_t entries = pattern.column.size();
  parallel_for(entries, task_items(entries, entries * batch), [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(sddmm_entries)(pattern, a.data(), b.data(), batch, value.data(), first, last);
  });
}

}  // namespace filigree
#endif  // HWY_ONCE
