// SPDX-License-Identifier: Apache-2.0
// What storing a panel means, value by value.
#include "kernels/packed.h"
#include "kernels/store_panel.h"

namespace filigree::internal {

void store_panel_reference(const float* panel, std::size_t rows, const OutputMap& map, float* to,
                           std::size_t row_stride) {
  for (std::size_t b = 0; b < rows; ++b)
    for (std::size_t o = 0; o < map.output_of.size(); ++o) {
      const Index neuron = map.output_of[o];
      to[b * row_stride + o] = neuron < 0 ? map.constant[o] : panel[neuron * std::size_t{kPanelRows} + b];
    }
}

}  // namespace filigree::internal
