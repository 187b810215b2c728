// SPDX-License-Identifier: Apache-2.0
// Dispatch of SpMM to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/spmm.cpp"  // NOLINT
#include <hwy/foreach_target.h>                // IWYU pragma: keep

#include "kernels/spmm-inl.h"

#if HWY_ONCE
#include "base/parallel.h"
#include "kernels/require_size.h"
namespace filigree::internal {

HWY_EXPORT(SpmmRows);
HWY_EXPORT(SpmmPanel);
HWY_EXPORT(AppendPanelRows);
HWY_EXPORT(AddPanelRows);

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

void spmm(const CsrView& w, std::span<const float> x, std::size_t batch, std::span<float> y) {
  require_size("spmm", "x", x.size(), w.cols * batch);
  require_size("spmm", "y", y.size(), w.rows * batch);
  parallel_for(w.rows, 64, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(SpmmRows)
    (w, x.data(), batch, y.data(), static_cast<Index>(first), static_cast<Index>(last));
  });
}

}  // namespace filigree

namespace filigree::internal {

void spmm_panel(const PackedMatrix& w, const Epilogue& epilogue, const float* x, float* y,
                PanelRange& range) {
  HWY_DYNAMIC_DISPATCH(SpmmPanel)(w, epilogue, x, y, range);
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
