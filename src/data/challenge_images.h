// SPDX-License-Identifier: Apache-2.0
// The input images of the Sparse DNN Graph Challenge, made from MNIST.
#pragma once

#include <cstdint>
#include <span>

#include "filigree/vocabulary.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

inline constexpr Index kMnistSide = 28;

// Enlarges `count` images of 28×28 pixels (row-major, one after another) to side×side, side 32, 64, 128
// or 256, and keeps the pixels above half of the brightest one of all `count` images; returns the first
// `keep` images. Pixel column * side + row of an image is the row's column, as in the official files.
//
// The official recipe enlarges the images side by side, as one 28 × 28·count picture, by padding its 2-D
// spectrum with zeros, and takes the absolute value of the complex result; see challenge_images.cpp.
// Memory: 224·side·count bytes while it works (3.4 GB for 60,000 images at side 256).
InputRows challenge_images(std::span<const std::uint8_t> pixels, Index count, Index side, Index keep,
                           const Observer& observer);

}  // namespace filigree::internal
