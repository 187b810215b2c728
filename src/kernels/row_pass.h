// SPDX-License-Identifier: Apache-2.0
// One row through one layer: what panels are too wide for. Inputs of zero cost nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/spmm.h"

namespace filigree::internal {

// A matrix by input. Where every input feeds all outputs or none, its weights lie together, `stride` apart;
// else each input has a list of outputs.
struct RowMatrix {
  static constexpr std::uint32_t kNone = ~0u;

  Index rows = 0, cols = 0;  // outputs, inputs
  std::size_t stride = 0;    // 0: lists
  std::vector<std::uint32_t>
      begin;                     // per input: of its weights, kNone if it has none; lists: cols + 1 of them
  Buffer<std::uint16_t> output;  // lists
  Buffer<float> value;

  std::size_t bytes() const;
  // Floats that an output of row_pass() takes.
  std::size_t padded_rows() const { return (static_cast<std::size_t>(rows) + 15) / 16 * 16; }
};

// At most 65,536 outputs and 2³² - 1 weights.
RowMatrix row_matrix(const CsrMatrix& matrix);

// y = epilogue(w x). Sums start from zero and add products in the order of the inputs, as spmm_panel does,
// and give the same bits; products with inputs of zero, which change no sum, are left out unless `skip` is
// false. x and y are aligned, y is padded_rows() long; `active` has room for cols numbers.
void row_pass(const RowMatrix& w, const Epilogue& epilogue, const float* x, float* y, std::uint32_t* active,
              bool skip = true);

}  // namespace filigree::internal
