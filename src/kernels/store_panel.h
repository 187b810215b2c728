// SPDX-License-Identifier: Apache-2.0
// Storing a panel: the neurons of a neuron-major panel become columns of row-major rows. The way back of
// load_panel.
#pragma once

#include <cstddef>
#include <span>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// Where the columns of rows come from: per column the neuron of the panel, or -1 for a constant.
struct OutputMap {
  std::span<const Index> output_of;
  std::span<const float> constant;  // as many, or none if no output_of is -1
};

// to[b * row_stride + o] = panel[map.output_of[o] * kPanelRows + b] for b < rows, or map.constant[o]. `rows`
// is at most kPanelRows, row_stride at least map.output_of.size(). Nothing else of `to` is written.
void store_panel(const float* panel, std::size_t rows, const OutputMap& map, float* to,
                 std::size_t row_stride);
void store_panel_reference(const float* panel, std::size_t rows, const OutputMap& map, float* to,
                           std::size_t row_stride);

}  // namespace filigree::internal
