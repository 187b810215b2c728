// SPDX-License-Identifier: Apache-2.0
// The products of training on one panel of samples: forward, backward, gradients.
#pragma once

#include <span>

#include "kernels/packed.h"
#include "sparse/pattern.h"

namespace filigree::internal {

// Panels are neuron-major, x[neuron * panel_rows + sample], aligned to kAlignment, and do not overlap. They
// are kPanelRows wide or kWidePanelRows: the wide ones share what a connection and a row cost besides
// arithmetic among more samples and are 10 to 30 % faster where there are enough of them.
inline constexpr std::size_t kWidePanelRows = 64;

// What happens to each sum before it is stored.
struct PanelEpilogue {
  bool relu = false;            // what is below zero becomes zero
  const float* gate = nullptr;  // a panel like y: where it is not above zero, zero (the gradient of relu)
};

// y = W x + bias, for every row of W; an empty bias is zero. Each sum adds the products in the order of the
// columns, starting from the bias. The forward pass; with the transposed connections, the backward pass.
void multiply_panel(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                    const PanelEpilogue& epilogue, const float* x, float* y,
                    std::size_t panel_rows = kPanelRows);
void multiply_panel_reference(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                              const PanelEpilogue& epilogue, const float* x, float* y,
                              std::size_t panel_rows = kPanelRows);

// gradient[e] += the sum over the samples of y[row] x[column], for each connection e = (row, column).
void gradient_panel(const Pattern& w, const float* y, const float* x, std::span<float> gradient,
                    std::size_t panel_rows = kPanelRows);
void gradient_panel_reference(const Pattern& w, const float* y, const float* x, std::span<float> gradient,
                              std::size_t panel_rows = kPanelRows);

// Back through a layer whose connections are stored by input (rows of W are inputs), each delta read once:
// next = W delta, what multiply_panel gives, with x as its gate if `gated`; and gradient[e] += the sum over
// the samples of x[row] delta[column], as gradient_panel.
void backward_panel(const Pattern& w, std::span<const float> value, bool gated, const float* x,
                    const float* delta, float* next, std::span<float> gradient,
                    std::size_t panel_rows = kPanelRows);

// sum[r] += the sum over the samples of y[r], for each of the first `rows` rows: the gradient of the biases.
void add_row_sums(const float* y, std::size_t rows, std::span<float> sum,
                  std::size_t panel_rows = kPanelRows);
void add_row_sums_reference(const float* y, std::size_t rows, std::span<float> sum,
                            std::size_t panel_rows = kPanelRows);

}  // namespace filigree::internal
