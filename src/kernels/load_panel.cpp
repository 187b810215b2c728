// SPDX-License-Identifier: Apache-2.0
// Dispatch of load_panel to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/load_panel.cpp"  // NOLINT
#include <hwy/foreach_target.h>                      // IWYU pragma: keep

#include "kernels/load_panel-inl.h"

#if HWY_ONCE
#include <cassert>

namespace filigree::internal {

HWY_EXPORT(LoadPanelBytes);
HWY_EXPORT(LoadPanelFloats);

namespace {

[[maybe_unused]] bool fits(std::size_t values, std::size_t features, std::size_t row_stride,
                           std::span<const Index> rows, const InputScaling& scaling, std::size_t stride) {
  const auto one_or_each = [&](std::span<const float> v) { return v.size() <= 1 || v.size() == features; };
  return stride % 32 == 0 && rows.size() <= stride && one_or_each(scaling.mean) &&
         one_or_each(scaling.scale) &&
         std::ranges::all_of(rows, [&](Index r) { return r >= 0 && r * row_stride + features <= values; });
}

}  // namespace

void load_panel(std::span<const std::uint8_t> data, std::size_t features, std::span<const Index> rows,
                const InputScaling& scaling, std::size_t stride, float* x, Places places,
                std::size_t row_stride) {
  if (row_stride == 0) row_stride = features;
  assert(fits(data.size(), features, row_stride, rows, scaling, stride));
  assert(places.empty() || places.size() == features);
  HWY_DYNAMIC_DISPATCH(LoadPanelBytes)(data.data(), features, rows, scaling, stride, x, places, row_stride);
}

void load_panel(std::span<const float> data, std::size_t features, std::span<const Index> rows,
                const InputScaling& scaling, std::size_t stride, float* x, Places places,
                std::size_t row_stride) {
  if (row_stride == 0) row_stride = features;
  assert(fits(data.size(), features, row_stride, rows, scaling, stride));
  assert(places.empty() || places.size() == features);
  HWY_DYNAMIC_DISPATCH(LoadPanelFloats)(data.data(), features, rows, scaling, stride, x, places, row_stride);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
