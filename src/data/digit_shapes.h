// SPDX-License-Identifier: Apache-2.0
// How people write the ten digits: the paths of the pen, before any hand makes them its own.
#pragma once

#include <span>

namespace filigree::internal {

// x to the right, y down; a digit is 1 high and centred at the origin.
struct PenPoint {
  float x, y;
  bool operator==(const PenPoint&) const = default;
};

using PenStroke =
    std::span<const PenPoint>;  // a smooth curve through its points; a point given twice is a corner
using DigitShape = std::span<const PenStroke>;  // the strokes of one way to write a digit

// The ways to write `digit` (0 … 9), at least two; one listed twice is twice as common.
std::span<const DigitShape> digit_shapes(int digit);

}  // namespace filigree::internal
