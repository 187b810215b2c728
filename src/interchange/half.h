// SPDX-License-Identifier: Apache-2.0
// 16-bit floats as numbers: IEEE's half and bfloat16, exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace filigree::internal {

inline double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                            : std::numeric_limits<double>::quiet_NaN())
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(fraction + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

inline double bfloat_value(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace filigree::internal
