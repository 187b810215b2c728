// SPDX-License-Identifier: Apache-2.0
// The meaning of load_panel. Two float operations per element: exact, so that no tolerance is needed.
#include "kernels/load_panel.h"

namespace filigree::internal {

namespace {

template <typename T>
void load(std::span<const T> data, std::size_t features, std::span<const Index> rows,
          const InputScaling& scaling, std::size_t stride, float* x, Places places, std::size_t row_stride) {
  for (std::size_t n = 0; n < features; ++n) {
    if (!places.empty() && places[n] < 0) continue;
    const std::size_t neuron = places.empty() ? n : static_cast<std::size_t>(places[n]);
    for (std::size_t b = 0; b < stride; ++b) {
      float& to = x[neuron * stride + b];
      to = 0;
      if (b >= rows.size()) continue;
      const auto value = static_cast<float>(data[rows[b] * (row_stride == 0 ? features : row_stride) + n]);
      const float shifted = value - scaling.mean_of(n);
      to = shifted * scaling.scale_of(n);
    }
  }
}

}  // namespace

void load_panel_reference(std::span<const std::uint8_t> data, std::size_t features,
                          std::span<const Index> rows, const InputScaling& scaling, std::size_t stride,
                          float* x, Places places, std::size_t row_stride) {
  load(data, features, rows, scaling, stride, x, places, row_stride);
}

void load_panel_reference(std::span<const float> data, std::size_t features, std::span<const Index> rows,
                          const InputScaling& scaling, std::size_t stride, float* x, Places places,
                          std::size_t row_stride) {
  load(data, features, rows, scaling, stride, x, places, row_stride);
}

}  // namespace filigree::internal
