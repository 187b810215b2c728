// SPDX-License-Identifier: Apache-2.0
// Dispatch of store_panel to the best SIMD target of the CPU.
#include "kernels/store_panel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/store_panel.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/store_panel-inl.h"

#if HWY_ONCE
#include <cassert>

namespace filigree::internal {

HWY_EXPORT(StorePanel);

void store_panel(const float* panel, std::size_t rows, const OutputMap& map, float* to,
                 std::size_t row_stride) {
  assert(rows <= kPanelRows && row_stride >= map.output_of.size());
  HWY_DYNAMIC_DISPATCH(StorePanel)(panel, rows, map, to, row_stride);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
