// SPDX-License-Identifier: Apache-2.0
// Tests of spMV against its reference on every SIMD target.
#include "kernels/spmv.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

std::vector<float> fast(const CsrMatrix& a, const std::vector<float>& x) {
  std::vector<float> y(a.rows, -7.0F);
  spmv(a.view(), x, y);
  return y;
}

std::vector<float> reference(const CsrMatrix& a, const std::vector<float>& x) {
  std::vector<float> y(a.rows, -8.0F);
  spmv_reference(a.view(), x, y);
  return y;
}

testing::AssertionResult agrees(const CsrMatrix& a, const std::vector<float>& x) {
  return all_within_rounding(fast(a, x), reference(a, x), reference(absolute(a), absolute(x)),
                             [&](std::size_t r) { return a.row_begin[r + 1] - a.row_begin[r]; });
}

TEST(Spmv, MultipliesByHand) {
  const CsrMatrix a{3, 3, {0, 2, 2, 3}, {0, 2, 1}, {1, 2, 3}};
  const std::vector<float> x{10, 20, 30};
  const std::vector<float> expected{70, 0, 60};
  EXPECT_EQ(reference(a, x), expected);
  for_each_target([&] { EXPECT_EQ(fast(a, x), expected); });
}

TEST(Spmv, AgreesWithTheReferenceForEveryRowLengthAndAlignment) {
  for_each_target([] {
    for (Index length = 0; length <= 70; ++length) {
      CsrMatrix a = one_row(length, length);  // then a row of one entry before it, to misalign it
      a.rows = 2;
      a.row_begin = {0, length % 2, length};
      EXPECT_TRUE(agrees(a, random_dense(a.cols, 3))) << length;
    }
  });
}

TEST(Spmv, AgreesWithTheReferenceForAnyMatrix) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto a = *any_csr();
      RC_ASSERT(static_cast<bool>(agrees(a, random_dense(a.cols, 4))));
    }));
  });
}

TEST(Spmv, PropagatesNanAndInfinityAsTheReference) {
  for_each_target([] {
    for (Index length = 1; length <= 35; ++length) {
      const CsrMatrix a = one_row(length, 5);
      for (const float special : {kNan, kInfinity, -kInfinity}) {
        auto x = random_dense(a.cols, 6);
        x[0] = special;  // read by no entry
        EXPECT_TRUE(agrees(a, x)) << length;
        x[a.column.back()] = special;
        EXPECT_TRUE(agrees(a, x)) << length;
        x[a.column.front()] = -special;
        EXPECT_TRUE(agrees(a, x)) << length;
      }
    }
  });
}

TEST(Spmv, GivesTheSameBitsForAnyNumberOfThreads) {
  const CsrMatrix a = random_csr(2000, 300, 0.3, 7);  // several tasks
  const auto x = random_dense(a.cols, 8);
  const auto expected = bits(fast(a, x));
  for_thread_counts([&] { EXPECT_EQ(bits(fast(a, x)), expected); });
}

}  // namespace
}  // namespace filigree::internal
