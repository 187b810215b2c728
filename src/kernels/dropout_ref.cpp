// SPDX-License-Identifier: Apache-2.0
// What dropout means, one place at a time.
#include <cmath>

#include "kernels/dropout.h"

namespace filigree::internal {

void drop_out_reference(std::uint32_t key, double rate, float* x, std::size_t count) {
  const auto threshold = static_cast<std::uint32_t>(std::lround(rate * 65536));
  const auto scale = static_cast<float>(1 / (1 - threshold / 65536.0));
  for (std::size_t i = 0; i < count; ++i) {
    // 32 places share 16 numbers: the lower halves serve the first 16 places, the upper halves the others.
    std::uint32_t number = static_cast<std::uint32_t>(i / 32 * 16 + i % 16) ^ key;
    number = (number ^ number >> 16) * 0x7feb352du;
    number = (number ^ number >> 15) * 0x846ca68bu;
    number ^= number >> 16;
    const std::uint32_t half = i % 32 < 16 ? number & 0xffff : number >> 16;
    x[i] = half < threshold ? 0.0f : x[i] * scale;
  }
}

}  // namespace filigree::internal
