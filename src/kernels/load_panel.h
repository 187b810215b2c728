// SPDX-License-Identifier: Apache-2.0
// Loading a panel: rows of a row-major data set become columns of a neuron-major panel, scaled on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "filigree/scaling.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

// Where features go: the neuron of the panel for each, or -1 for nowhere; empty: to the neuron of their own
// number.
using Places = std::span<const Index>;

// Features that are loaded together: those that go nowhere cost little, whole blocks of them nothing.
inline constexpr std::size_t kLoadBlock = 16;

// x[n * stride + b] = (data[rows[b] * row_stride + n] - mean[n]) * scale[n] for b < rows.size(), or places[n]
// instead of the first n; a row_stride of 0 is `features`; the lanes from there to stride become 0. stride is
// a multiple of 32 and no less than rows.size(); x is aligned to kAlignment. Exactly the bits of the
// reference, on every SIMD target. One thread: callers are parallel over panels.
void load_panel(std::span<const std::uint8_t> data, std::size_t features, std::span<const Index> rows,
                const InputScaling& scaling, std::size_t stride, float* x, Places places = {},
                std::size_t row_stride = 0);
void load_panel(std::span<const float> data, std::size_t features, std::span<const Index> rows,
                const InputScaling& scaling, std::size_t stride, float* x, Places places = {},
                std::size_t row_stride = 0);

void load_panel_reference(std::span<const std::uint8_t> data, std::size_t features,
                          std::span<const Index> rows, const InputScaling& scaling, std::size_t stride,
                          float* x, Places places = {}, std::size_t row_stride = 0);
void load_panel_reference(std::span<const float> data, std::size_t features, std::span<const Index> rows,
                          const InputScaling& scaling, std::size_t stride, float* x, Places places = {},
                          std::size_t row_stride = 0);

}  // namespace filigree::internal
