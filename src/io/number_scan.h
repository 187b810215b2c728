// SPDX-License-Identifier: Apache-2.0
// Numbers in text at some bytes a nanosecond: digits eight at a time. What is not an everyday number is left
// to std::from_chars, and the results are the same.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace filigree::internal {

// mantissa · 10^exponent; `end` is nullptr where the text is not of this form: an optional minus, at most 19
// digits with or without a point among them, perhaps an exponent.
struct Decimal {
  const char* end = nullptr;
  std::uint64_t mantissa = 0;
  int exponent = 0;
  bool negative = false;
};

// Takes the digits at `cursor`, of which there may be none.
inline void scan_digits(const char*& cursor, const char* end, std::uint64_t& number) {
  static_assert(std::endian::native == std::endian::little);
  while (end - cursor >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, cursor, 8);
    word ^= 0x3030303030303030U;  // digits become 0 … 9, everything else more
    if ((((word + 0x7676767676767676U) | word) & 0x8080808080808080U) != 0) break;
    word = word * 10 + (word >> 8);  // pairs, in every other byte
    constexpr std::uint64_t kPairs = 0x000000ff000000ffU;
    word = ((word & kPairs) * (100 + (std::uint64_t{1000000} << 32)) +
            ((word >> 16) & kPairs) * (1 + (std::uint64_t{10000} << 32))) >>
           32;
    number = number * 100000000 + word;
    cursor += 8;
  }
  for (; cursor != end && *cursor >= '0' && *cursor <= '9'; ++cursor) number = number * 10 + (*cursor - '0');
}

inline Decimal scan_decimal(const char* cursor, const char* end) {
  constexpr int kMostDigits = 19;  // 10^19 - 1 is below 2^64
  constexpr int kMostExponent = 999;
  Decimal result;
  result.negative = cursor != end && *cursor == '-';
  if (result.negative) ++cursor;
  const char* const begin = cursor;
  scan_digits(cursor, end, result.mantissa);
  auto digits = cursor - begin;
  if (cursor != end && *cursor == '.') {
    const char* const fraction = ++cursor;
    scan_digits(cursor, end, result.mantissa);
    digits += cursor - fraction;
    result.exponent = -static_cast<int>(cursor - fraction);
  }
  if (digits == 0 || digits > kMostDigits) return result;
  if (cursor != end && (*cursor == 'e' || *cursor == 'E')) {
    ++cursor;
    const bool minus = cursor != end && *cursor == '-';
    if (cursor != end && (*cursor == '-' || *cursor == '+')) ++cursor;
    const char* const first = cursor;
    int exponent = 0;
    for (; cursor != end && *cursor >= '0' && *cursor <= '9' && exponent <= kMostExponent; ++cursor)
      exponent = exponent * 10 + (*cursor - '0');
    if (cursor == first || exponent > kMostExponent) return result;
    result.exponent += minus ? -exponent : exponent;
  }
  result.end = cursor;
  return result;
}

inline constexpr int kExactPowers = 22;  // 10^22 is the highest that a double holds
inline constexpr std::array<double, kExactPowers + 1> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Within a unit in the last place or so; exact where the mantissa is below 2^53.
inline double to_double(const Decimal& decimal) {
  const auto mantissa = static_cast<double>(decimal.mantissa);
  const double value = decimal.exponent < 0 ? mantissa / kPowersOfTen[-decimal.exponent]
                                            : mantissa * kPowersOfTen[decimal.exponent];
  return decimal.negative ? -value : value;
}

// The end of the number at `cursor`, or nullptr: it may still be one.
inline const char* scan_double(const char* cursor, const char* end, double& value) {
  const Decimal decimal = scan_decimal(cursor, end);
  if (decimal.end == nullptr || decimal.mantissa >> 53 != 0 || decimal.exponent < -kExactPowers ||
      decimal.exponent > kExactPowers)
    return nullptr;
  value = to_double(decimal);
  return decimal.end;
}

inline const char* scan_float(const char* cursor, const char* end, float& value) {
  constexpr double kLeast = 0x1p-126, kMost = 0x1p127;  // with all bits of a float
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 29) - 1, kHalf = std::uint64_t{1} << 28, kDoubt = 8;
  const Decimal decimal = scan_decimal(cursor, end);
  if (decimal.end == nullptr || decimal.exponent < -kExactPowers || decimal.exponent > kExactPowers)
    return nullptr;
  const double wide = to_double(decimal);
  const double magnitude = decimal.negative ? -wide : wide;
  if (decimal.mantissa != 0) {
    if (!(magnitude >= kLeast && magnitude < kMost)) return nullptr;
    // The double may be off by two units. That can matter only next to the middle between two floats.
    const std::uint64_t dropped = std::bit_cast<std::uint64_t>(wide) & kDropped;
    if (dropped >= kHalf - kDoubt && dropped <= kHalf + kDoubt) return nullptr;
  }
  value = static_cast<float>(wide);
  return decimal.end;
}

}  // namespace filigree::internal
