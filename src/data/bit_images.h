// SPDX-License-Identifier: Apache-2.0
// Black-and-white images as packed bits, on their way to InputRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// `count` square images, all pixels off. Pixel k = image column * side + image row is bit k mod 32 of
// the image's word k / 32. Different images share no word, so threads may fill them at once.
class BitImages {
 public:
  BitImages(Index count, Index side);

  Index count() const { return count_; }
  Index pixels() const { return pixels_; }
  std::span<std::uint32_t> image(std::size_t i) { return {words_.data() + i * words_each_, words_each_}; }
  std::span<const std::uint32_t> image(std::size_t i) const {
    return {words_.data() + i * words_each_, words_each_};
  }

 private:
  Index count_;
  Index pixels_;
  std::size_t words_each_;
  Buffer<std::uint32_t> words_;
};

// One binary row an image: the pixels that are on, ascending.
InputRows rows_of(const BitImages& images);

}  // namespace filigree::internal
