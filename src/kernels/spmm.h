// SPDX-License-Identifier: Apache-2.0
// SpMM: sparse weights times dense activations, the work of a forward pass.
#pragma once

#include <span>

#include "filigree/activation.h"
#include "filigree/sparse.h"
#include "kernels/packed.h"

namespace filigree::internal {

// What spmm() of filigree/sparse.h means.
void spmm_reference(const CsrView& w, std::span<const float> x, std::size_t batch, std::span<float> y);

// What follows the product, per output: z = scale · sum + bias, and relu where that is the activation. Of
// others nothing: apply_activation() does the rest.
struct Epilogue {
  std::span<const float> bias;  // one per output, or empty for none
  ActivationFunction activation = Activation::identity;
  float scale = 1;  // multiplies the sum; 1 is exact
};

// Over all outputs of each row of the panel, before the activation: a row is dead after a relu layer if
// highest <= 0, saturated if lowest >= cap. Both are NaN if any of them was NaN or infinite.
struct PanelRange {
  alignas(kAlignment) float highest[kPanelRows];
  alignas(kAlignment) float lowest[kPanelRows];
};

// One panel through one layer: x is cols × kPanelRows, y rows × kPanelRows, aligned to kAlignment, apart.
// Each sum adds the products in the order of the columns, starting from zero, whatever the packing. Only the
// first `rows` rows are sure to be computed, with the bits that they have in a whole panel.
void spmm_panel(const PackedMatrix& w, const Epilogue& epilogue, const float* x, float* y, PanelRange& range,
                std::size_t rows = kPanelRows);

// Appends the marked rows of panel `from` to panel `to`, from its row `at` on: bit r of `rows` marks row r.
// at + popcount(rows) <= kPanelRows.
void append_panel_rows(const float* from, Index neurons, std::uint32_t rows, float* to, Index at);

// The way back: the rows of panel `from` that append_panel_rows put at `at` and after are added to the rows
// marked in `to`, row i of `from` times weight[i]. Behind `from` there are kPanelRows values more that may be
// read.
void add_panel_rows(const float* from, Index neurons, Index at, std::uint32_t rows, const float* weight,
                    float* to);

}  // namespace filigree::internal
