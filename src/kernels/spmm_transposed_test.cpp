// SPDX-License-Identifier: Apache-2.0
// Tests of spMMᵀ against its reference on every SIMD target.
#include "kernels/spmm_transposed.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

std::vector<float> fast(const CscMatrix& a, const std::vector<float>& x, std::size_t batch) {
  std::vector<float> y(a.cols * batch, -7.0F);
  spmm_transposed(a.view(), x, batch, y);
  return y;
}

std::vector<float> reference(const CscMatrix& a, const std::vector<float>& x, std::size_t batch) {
  std::vector<float> y(a.cols * batch, -8.0F);
  spmm_transposed_reference(a.view(), x, batch, y);
  return y;
}

testing::AssertionResult agrees(const CscMatrix& a, const std::vector<float>& x, std::size_t batch) {
  CscMatrix abs_a = a;
  abs_a.value = absolute(a.value);
  return all_within_rounding(
      fast(a, x, batch), reference(a, x, batch), reference(abs_a, absolute(x), batch),
      [&](std::size_t i) { return a.column_begin[i / batch + 1] - a.column_begin[i / batch]; });
}

TEST(SpmmTransposed, MultipliesByHand) {
  // 1 . 2
  // . . 3    times a batch of two, neuron by neuron
  const CscMatrix a{2, 3, {0, 1, 1, 3}, {0, 0, 1}, {1, 2, 3}};
  const std::vector<float> x{10, 20, 100, 200};
  const std::vector<float> expected{10, 20, 0, 0, 320, 640};
  EXPECT_EQ(reference(a, x, 2), expected);
  for_each_target([&] { EXPECT_EQ(fast(a, x, 2), expected); });
}

TEST(SpmmTransposed, AgreesWithTheReferenceForEveryBatch) {
  const CscMatrix a = to_csc(random_csr(9, 13, 0.4, 1).view());
  for_each_target([&] {
    for (std::size_t batch = 1; batch <= 140; ++batch) {
      EXPECT_TRUE(agrees(a, random_dense(a.rows * batch, 2), batch)) << batch;
    }
  });
}

TEST(SpmmTransposed, AgreesWithTheReferenceForAnyMatrix) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto a = *any_csr();
      const auto batch = *rc::gen::inRange<std::size_t>(1, 40);
      RC_ASSERT(static_cast<bool>(agrees(to_csc(a.view()), random_dense(a.rows * batch, 3), batch)));
    }));
  });
}

TEST(SpmmTransposed, PropagatesNanAndInfinityAsTheReference) {
  const CscMatrix a = to_csc(random_csr(8, 8, 0.5, 4).view());
  for_each_target([&] {
    for (const std::size_t batch : {1, 3, 16, 37, 70}) {
      for (const float special : {kNan, kInfinity, -kInfinity}) {
        auto x = random_dense(a.rows * batch, 5);
        x[0] = special;
        x.back() = special;
        x[x.size() / 2] = -special;
        EXPECT_TRUE(agrees(a, x, batch)) << batch;
      }
    }
  });
}

TEST(SpmmTransposed, GivesTheSameBitsForAnyNumberOfThreads) {
  const CscMatrix a = to_csc(random_csr(300, 500, 0.1, 6).view());
  const auto x = random_dense(a.rows * 37, 7);
  const auto expected = bits(fast(a, x, 37));
  for_thread_counts([&] { EXPECT_EQ(bits(fast(a, x, 37)), expected); });
}

TEST(SpmmTransposed, GivesAnInputTheSameBitsAloneAndInAnyBatch) {
  const CscMatrix a = to_csc(random_csr(30, 20, 0.5, 8).view());
  constexpr std::size_t kBatch = 87;  // 64 + 16 + 4 + 3: every width of vector takes part
  const auto x = random_dense(a.rows * kBatch, 9);
  for_each_target([&] {
    const auto together = fast(a, x, kBatch);
    for (std::size_t b = 0; b < kBatch; ++b) {
      std::vector<float> one(a.rows);
      for (Index r = 0; r < a.rows; ++r) one[r] = x[r * kBatch + b];
      std::vector<float> expected(a.cols);
      for (Index c = 0; c < a.cols; ++c) expected[c] = together[c * kBatch + b];
      EXPECT_EQ(bits(fast(a, one, 1)), bits(expected)) << b;
    }
  });
}

}  // namespace
}  // namespace filigree::internal
