// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of store_panel, compiled once per target by store_panel.cpp.
#if defined(FILIGREE_KERNELS_STORE_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_STORE_PANEL_INL_H_
#undef FILIGREE_KERNELS_STORE_PANEL_INL_H_
#else
#define FILIGREE_KERNELS_STORE_PANEL_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "kernels/packed.h"
#include "kernels/store_panel.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kStoreLanes = kPanelRows;

// Value by value: what is left over at the edges.
HWY_INLINE void store_plainly(const float* panel, std::size_t first_row, std::size_t rows,
                              const OutputMap& map, std::size_t first, std::size_t last, float* to,
                              std::size_t row_stride) {
  for (std::size_t b = first_row; b < rows; ++b)
    for (std::size_t o = first; o < last; ++o) {
      const Index neuron = map.output_of[o];
      to[b * row_stride + o] =
          neuron < 0 ? map.constant[o] : panel[static_cast<std::size_t>(neuron) * kStoreLanes + b];
    }
}

// Four rows of four outputs at a time, exchanged in registers of 128 bits. 64 outputs (8 KiB of the panel) go
// through all rows before the next: what is read stays in L1, and each row is written 256 bytes at a stretch.
// Column by column instead, with rows of 4 KiB, every store falls into the same lines of L1.
void StorePanel(const float* HWY_RESTRICT panel, std::size_t rows, const OutputMap& map,
                float* HWY_RESTRICT to, std::size_t row_stride) {
  const std::size_t outputs = map.output_of.size();
#if HWY_TARGET == HWY_SCALAR
  store_plainly(panel, 0, rows, map, 0, outputs, to, row_stride);
#else
  constexpr std::size_t kTogether = 64;
  const hn::FixedTag<float, 4> d;
  const std::size_t whole_rows = rows / 4 * 4, whole_outputs = outputs / 4 * 4;
  for (std::size_t block = 0; block < whole_outputs; block += kTogether) {
    const std::size_t end = std::min(whole_outputs, block + kTogether);
    for (std::size_t b = 0; b < whole_rows; b += 4) {
      float* HWY_RESTRICT row = to + b * row_stride;
      for (std::size_t o = block; o < end; o += 4) {
        const auto values = [&](std::size_t i) HWY_ATTR {
          const Index neuron = map.output_of[o + i];
          return neuron < 0 ? hn::Set(d, map.constant[o + i])
                            : hn::LoadU(d, panel + static_cast<std::size_t>(neuron) * kStoreLanes + b);
        };
        const auto v0 = values(0), v1 = values(1), v2 = values(2), v3 = values(3);
        const auto low02 = hn::InterleaveLower(d, v0, v2), low13 = hn::InterleaveLower(d, v1, v3);
        const auto high02 = hn::InterleaveUpper(d, v0, v2), high13 = hn::InterleaveUpper(d, v1, v3);
        hn::StoreU(hn::InterleaveLower(d, low02, low13), d, row + o);
        hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, row + row_stride + o);
        hn::StoreU(hn::InterleaveLower(d, high02, high13), d, row + 2 * row_stride + o);
        hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, row + 3 * row_stride + o);
      }
    }
    store_plainly(panel, whole_rows, rows, map, block, end, to, row_stride);
  }
  store_plainly(panel, 0, rows, map, whole_outputs, outputs, to, row_stride);
#endif
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
