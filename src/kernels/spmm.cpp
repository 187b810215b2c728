// SPDX-License-Identifier: Apache-2.0
// Dispatch of the panel kernel to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmm.cpp"  // NOLINT
#include <hwy/foreach_target.h>                // IWYU pragma: keep

#include "kernels/spmm-inl.h"

#if HWY_ONCE
namespace filigree::internal {

HWY_EXPORT(SpmmPanel);
HWY_EXPORT(AppendPanelRows);
HWY_EXPORT(AddPanelRows);

void spmm_panel(const PackedMatrix& w, const Epilogue& epilogue, const float* x, float* y, PanelRange& range,
                std::size_t rows) {
  HWY_DYNAMIC_DISPATCH(SpmmPanel)(w, epilogue, rows, x, y, range);
}

void append_panel_rows(const float* from, Index neurons, std::uint32_t rows, float* to, Index at) {
  HWY_DYNAMIC_DISPATCH(AppendPanelRows)
  (from, static_cast<std::size_t>(neurons), rows, to, static_cast<std::size_t>(at));
}

void add_panel_rows(const float* from, Index neurons, Index at, std::uint32_t rows, const float* weight,
                    float* to) {
  HWY_DYNAMIC_DISPATCH(AddPanelRows)
  (from, static_cast<std::size_t>(neurons), static_cast<std::size_t>(at), rows, weight, to);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
