// SPDX-License-Identifier: Apache-2.0
// The rows of a picture of MNIST images, enlarged by padding their spectrum with zeros.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

inline constexpr std::size_t kPictureRows = 28;  // of MNIST's images, which are squares

// The 28 rows of the picture, each stretched from 28·count to side·count.
struct StretchedRows {
  std::size_t stride = 0;
  Buffer<double> real;                         // 28 rows, `stride` apart
  std::array<double, kPictureRows> nyquist{};  // the imaginary part of row r is nyquist[r] * wave
};

// `pixels` holds `count` images of 28×28; `side` is a multiple of 4. Throws Error if `count` has a prime
// factor that would make this take hours.
StretchedRows stretch_rows(std::span<const std::uint8_t> pixels, std::size_t count, std::size_t side,
                           const Observer& observer);

}  // namespace filigree::internal
