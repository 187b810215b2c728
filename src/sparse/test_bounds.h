// SPDX-License-Identifier: Apache-2.0
// How far from the truth sums of floats may be, in any order of summation.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "filigree/sparse.h"

namespace filigree::internal {

inline constexpr double kUnitRoundoff = 0x1p-24;

// Of a sum of `terms` products whose magnitudes add up to `magnitude`: a rounding for each product, each
// addition and the value that is stored.
inline double sum_bound(std::size_t terms, double magnitude) {
  return static_cast<double>(terms + 2) * kUnitRoundoff * magnitude;
}

// Values in double, and how far floats may be from each.
struct Bounded {
  std::vector<double> value, error;
  explicit Bounded(std::vector<double> exact) : value(std::move(exact)), error(value.size(), 0.0) {}
};

// weights · x + bias: what the errors of x become, and what this sum adds.
inline Bounded bounded_product(const CsrMatrix& weights, std::span<const float> bias, const Bounded& x) {
  Bounded y(std::vector<double>(weights.rows));
  for (Index o = 0; o < weights.rows; ++o) {
    const std::size_t begin = weights.row_begin[o], end = weights.row_begin[o + 1];
    double sum = bias[o], magnitude = std::abs(sum), carried = 0;
    for (std::size_t e = begin; e < end; ++e) {
      const double weight = weights.value[e], product = weight * x.value[weights.column[e]];
      sum += product;
      magnitude += std::abs(product);
      carried += std::abs(weight) * x.error[weights.column[e]];
    }
    y.value[o] = sum;
    y.error[o] = carried + sum_bound(end - begin, magnitude + carried);
  }
  return y;
}

}  // namespace filigree::internal
