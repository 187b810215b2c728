// SPDX-License-Identifier: Apache-2.0
// Binary inputs, 32 rows at a time, one bit per row: for each panel and column, which of its rows have the
// entry.
#pragma once

#include <cstdint>

#include "base/buffer.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

inline constexpr Index kBitPanelRows = 32;

// A second form of InputRows for reading all rows in order. At the challenge's density of 10 % it takes two
// thirds of the sparse form's bytes, and a column's 32 rows come in one load.
struct BitPanels {
  Index rows = 0, cols = 0;
  Buffer<std::uint32_t> bits;  // [panel][column]; bit r is row 32 · panel + r

  const std::uint32_t* panel(std::size_t p) const { return bits.data() + p * cols; }
};

// `inputs` must be binary.
BitPanels make_bit_panels(const InputRows& inputs);

}  // namespace filigree::internal
