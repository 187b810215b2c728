// SPDX-License-Identifier: Apache-2.0
// For tests of kernels: random operands, and equality up to the rounding that a sum of n terms may have.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/test_threads.h"
#include "filigree/sparse.h"

namespace filigree::internal {

inline std::vector<float> random_dense(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = random.uniform(-2.0, 2.0);
  return values;
}

// A single row of `length` entries, at every second column.
inline CsrMatrix one_row(Index length, std::uint64_t seed) {
  CsrMatrix m{1, 2 * length, {0, length}, {}, random_dense(length, seed)};
  for (Index e = 0; e < length; ++e) m.column.push_back(2 * e + 1);
  return m;
}

inline std::vector<float> absolute(std::vector<float> values) {
  for (float& value : values) value = std::fabs(value);
  return values;
}

inline CsrMatrix absolute(CsrMatrix m) {
  m.value = absolute(std::move(m.value));
  return m;
}

// A float sum of n products, in any order and fused or not, errs by at most about n * u * magnitude, where
// u = epsilon / 2 and magnitude is the sum of |a| |x|; rounding the reference adds one u. So n * epsilon
// holds both, n >= 1. A NaN matches a NaN, an infinity the same infinity.
inline bool within_rounding(float actual, float expected, double magnitude, double terms) {
  if (std::isnan(expected)) return std::isnan(actual);
  if (std::isinf(expected)) return actual == expected;
  const double bound = terms * (double{std::numeric_limits<float>::epsilon()} * magnitude +
                                double{std::numeric_limits<float>::denorm_min()});
  return std::fabs(double{actual} - expected) <= bound;
}

// terms(i) is the number of products in element i; magnitude comes from the reference on absolute values.
template <typename Terms>
testing::AssertionResult all_within_rounding(std::span<const float> actual, std::span<const float> expected,
                                             std::span<const float> magnitude, const Terms& terms) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " values instead of " << expected.size();
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto n = static_cast<double>(terms(i));
    if (within_rounding(actual[i], expected[i], magnitude[i], n)) continue;
    return testing::AssertionFailure()
           << "element " << i << " is " << actual[i] << " instead of " << expected[i] << ", a sum of " << n
           << " terms of magnitude " << magnitude[i];
  }
  return testing::AssertionSuccess();
}

inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (const float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

// Calls body() with 1, 2, 3 and 7 threads in turn, then gives loops every core again.
template <typename Body>
void for_thread_counts(const Body& body) {
  for (const int count : {1, 2, 3, 7}) {
    SCOPED_TRACE(count);
    set_threads(count);
    body();
  }
  set_threads(0);
}

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace filigree::internal
