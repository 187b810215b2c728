// SPDX-License-Identifier: Apache-2.0
// Tests of the dense product against sums in double: transpositions, strides, what is added to.
#include "kernels/gemm.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

constexpr float kUntouched = -7;

struct Case {
  long rows, cols, depth;
  bool a_transposed, b_transposed;
  float beta;
  long gap;  // what strides are longer than they need be
};

// Row-major with `gap` values between rows that must not be read: NaN.
std::vector<float> stored(long rows, long cols, long gap, std::uint64_t seed) {
  std::vector<float> m(rows * (cols + gap), kNan);
  Random random(seed);
  for (long r = 0; r < rows; ++r)
    for (long c = 0; c < cols; ++c) m[r * (cols + gap) + c] = random.uniform(-2, 2);
  return m;
}

using Gemm = decltype(&gemm);

void check(const Case& t, Gemm product) {
  SCOPED_TRACE(testing::Message() << (product == &gemm ? "oneDNN, " : "plain, ") << t.rows << " × " << t.depth
                                  << " × " << t.cols << ", transposed " << t.a_transposed << t.b_transposed
                                  << ", beta " << t.beta << ", gap " << t.gap);
  const long a_cols = t.a_transposed ? t.rows : t.depth;
  const long b_cols = t.b_transposed ? t.depth : t.cols;
  const auto a = stored(t.a_transposed ? t.depth : t.rows, a_cols, t.gap, 1);
  const auto b = stored(t.b_transposed ? t.cols : t.depth, b_cols, t.gap, 2);
  const auto at = [&](const std::vector<float>& m, long stride, bool transposed, long r, long c) {
    return double{m[transposed ? c * stride + r : r * stride + c]};
  };
  const long stride = t.cols + t.gap;
  const auto before = stored(t.rows, t.cols, 0, 3);
  // Where beta is 0, what was there before does not matter, be it NaN.
  std::vector<float> c(t.rows * stride, kUntouched);
  for (long i = 0; i < t.rows; ++i)
    for (long j = 0; j < t.cols; ++j) c[i * stride + j] = t.beta == 0 ? kNan : before[i * t.cols + j];
  product(t.rows, t.cols, t.depth, {a.data(), a_cols + t.gap, t.a_transposed},
          {b.data(), b_cols + t.gap, t.b_transposed}, t.beta, c.data(), stride);
  for (long i = 0; i < t.rows; ++i) {
    for (long j = 0; j < t.cols; ++j) {
      double sum = t.beta == 0 ? 0 : double{t.beta} * before[i * t.cols + j];
      double magnitude = std::fabs(sum);
      for (long k = 0; k < t.depth; ++k) {
        const double term =
            at(a, a_cols + t.gap, t.a_transposed, i, k) * at(b, b_cols + t.gap, t.b_transposed, k, j);
        sum += term;
        magnitude += std::fabs(term);
      }
      const float actual = c[i * stride + j];
      EXPECT_TRUE(
          within_rounding(actual, static_cast<float>(sum), magnitude, static_cast<double>(t.depth) + 1))
          << i << ", " << j << ": " << actual << " instead of " << sum;
    }
    for (long j = t.cols; j < stride; ++j) EXPECT_EQ(c[i * stride + j], kUntouched);
  }
}

TEST(Gemm, MultipliesByHand) {
  const std::vector<float> a{1, 2, 3, 4, 5, 6};    // 2 × 3
  const std::vector<float> b{1, 0, 0, 1, 10, 20};  // 3 × 2
  std::vector<float> c{100, 100, 100, 100};
  gemm(2, 2, 3, {a.data(), 3, false}, {b.data(), 2, false}, 1, c.data(), 2);
  EXPECT_EQ(c, (std::vector<float>{131, 162, 164, 225}));
}

TEST(Gemm, AgreesWithSumsInDoubleForEveryTranspositionBetaAndStride) {
  for (const bool a_transposed : {false, true})
    for (const bool b_transposed : {false, true})
      for (const float beta : {0.0f, 1.0f})
        for (const long gap : {0, 3})
          for (const auto& [rows, cols, depth] :
               {std::tuple{1L, 1L, 1L}, {3L, 32L, 5L}, {10L, 64L, 33L}, {17L, 31L, 70L}, {65L, 32L, 16L}})
            check({rows, cols, depth, a_transposed, b_transposed, beta, gap}, &gemm);
}

TEST(Gemm, AgreesWithSumsInDoubleOnEveryTargetWithoutOneDnn) {
  for_each_target([] {
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true})
        for (const float beta : {0.0f, 1.0f})
          for (const auto& [rows, cols, depth] : {std::tuple{1L, 1L, 1L},
                                                  {3L, 32L, 5L},
                                                  {10L, 64L, 33L},
                                                  {17L, 31L, 70L},
                                                  {6L, 200L, 16L},
                                                  {4L, 8L, 0L}})
            check({rows, cols, depth, a_transposed, b_transposed, beta, 3}, &plain_gemm);
  });
}

TEST(Gemm, AddsUpThousandsOfTerms) {
  for (const Gemm product : {&gemm, &plain_gemm}) check({5, 7, 3000, false, true, 1, 0}, product);
}

}  // namespace
}  // namespace filigree::internal
