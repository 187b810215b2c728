// SPDX-License-Identifier: Apache-2.0
#include "sparse/bit_panels.h"

#include <algorithm>
#include <cassert>

#include "base/parallel.h"

namespace filigree::internal {

BitPanels make_bit_panels(const InputRows& inputs) {
  assert(inputs.binary());
  BitPanels result;
  result.rows = inputs.rows;
  result.cols = inputs.cols;
  const std::size_t cols = inputs.cols;
  const std::size_t panels = (inputs.rows + kBitPanelRows - 1) / kBitPanelRows;
  result.bits = Buffer<std::uint32_t>(panels * cols);
  parallel_for(panels, 8, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) {
      std::uint32_t* bits = result.bits.data() + p * cols;
      std::fill_n(bits, cols, 0u);
      const auto row = static_cast<Index>(p) * kBitPanelRows;
      for (Index r = row; r < std::min(row + kBitPanelRows, inputs.rows); ++r)
        for (const std::uint16_t c : inputs.row_columns(r)) bits[c] |= std::uint32_t{1} << (r - row);
    }
  });
  return result;
}

}  // namespace filigree::internal
