// The products of training on one panel of kPanelRows samples: forward, backward, gradients.
#pragma once

#include <span>

#include "kernels/packed.h"
#include "sparse/pattern.h"

namespace filigree {

// Panels are neuron-major, x[neuron * kPanelRows + sample], aligned to kAlignment, and do not overlap.

// What happens to each sum before it is stored.
struct PanelEpilogue {
  bool relu = false;            // what is below zero becomes zero
  const float* gate = nullptr;  // a panel like y: where it is not above zero, zero (the gradient of relu)
};

// y = W x + bias, for every row of W; an empty bias is zero. Each sum adds the products in the order of the
// columns, starting from the bias. The forward pass; with the transposed connections, the backward pass.
void multiply_panel(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                    const PanelEpilogue& epilogue, const float* x, float* y);
void multiply_panel_reference(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                              const PanelEpilogue& epilogue, const float* x, float* y);

// gradient[e] += the sum over the samples of y[row] x[column], for each connection e = (row, column).
void gradient_panel(const Pattern& w, const float* y, const float* x, std::span<float> gradient);
void gradient_panel_reference(const Pattern& w, const float* y, const float* x, std::span<float> gradient);

// sum[r] += the sum over the samples of y[r], for each of the first `rows` rows: the gradient of the biases.
void add_row_sums(const float* y, std::size_t rows, std::span<float> sum);
void add_row_sums_reference(const float* y, std::size_t rows, std::span<float> sum);

// dot[4 i + j] = the dot product of a + i * width and b + j * width, i and j from 0 to 3: a block of a dense
// gradient that is looked at and forgotten. width is a multiple of kPanelRows, a and b are aligned. The bits
// do not depend on which four vectors come together.
void dots_4x4(const float* a, const float* b, std::size_t width, float* dot);
void dots_4x4_reference(const float* a, const float* b, std::size_t width, float* dot);

}  // namespace filigree
