// SPDX-License-Identifier: Apache-2.0
// Handwritten-looking digits drawn from nothing but a seed: data for those who have no data at hand.
#pragma once

#include <cstdint>
#include <span>

#include "filigree/vocabulary.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// Which digit, 0 … 9, image number `image` of the set `seed` shows.
std::uint8_t digit_label(std::uint64_t seed, Index image);

// Draws it in side×side pixels, row-major, from 0 (paper) to 1 (ink), anti-aliased. Like MNIST, the digit
// spans about 20/28 of the side and its centre of mass lies in the middle. The shape does not depend on side.
void draw_digit(std::uint64_t seed, Index image, Index side, std::span<float> grey);

// Images 0 … count-1 of the set `seed`; a pixel is on where its grey exceeds one half. Pixel
// column * side + row of an image is the row's column, as in challenge_images. side is 8 … 256.
InputRows digit_images(Index count, Index side, std::uint64_t seed, const Observer& observer);

}  // namespace filigree::internal
