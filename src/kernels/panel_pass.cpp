// SPDX-License-Identifier: Apache-2.0
// Dispatch of the products of training to the best SIMD target of the CPU.
#include "kernels/panel_pass.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/panel_pass.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/panel_pass-inl.h"

#if HWY_ONCE

namespace filigree::internal {

HWY_EXPORT(MultiplyPanel);
HWY_EXPORT(GradientPanel);
HWY_EXPORT(BackwardPanel);
HWY_EXPORT(AddRowSums);

void multiply_panel(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                    const PanelEpilogue& epilogue, const float* x, float* y, std::size_t panel_rows) {
  HWY_DYNAMIC_DISPATCH(MultiplyPanel)
  (w, value.data(), bias.empty() ? nullptr : bias.data(), epilogue, x, y, panel_rows);
}

void gradient_panel(const Pattern& w, const float* y, const float* x, std::span<float> gradient,
                    std::size_t panel_rows) {
  HWY_DYNAMIC_DISPATCH(GradientPanel)(w, y, x, gradient.data(), panel_rows);
}

void backward_panel(const Pattern& w, std::span<const float> value, bool gated, const float* x,
                    const float* delta, float* next, std::span<float> gradient, std::size_t panel_rows) {
  HWY_DYNAMIC_DISPATCH(BackwardPanel)(w, value.data(), gated, x, delta, next, gradient.data(), panel_rows);
}

void add_row_sums(const float* y, std::size_t rows, std::span<float> sum, std::size_t panel_rows) {
  HWY_DYNAMIC_DISPATCH(AddRowSums)(y, rows, sum.data(), panel_rows);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
