// SPDX-License-Identifier: Apache-2.0
// Tests of SDDMM against its reference on every SIMD target.
#include "kernels/sddmm.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

using Dense = std::vector<float>;

Dense fast(const CsrMatrix& pattern, const Dense& a, const Dense& b, std::size_t batch) {
  Dense value(pattern.column.size(), -7.0F);
  sddmm(pattern.view(), a, b, batch, value);
  return value;
}

Dense reference(const CsrMatrix& pattern, const Dense& a, const Dense& b, std::size_t batch) {
  Dense value(pattern.column.size(), -8.0F);
  sddmm_reference(pattern.view(), a, b, batch, value);
  return value;
}

testing::AssertionResult agrees(const CsrMatrix& pattern, const Dense& a, const Dense& b, std::size_t batch) {
  return all_within_rounding(fast(pattern, a, b, batch), reference(pattern, a, b, batch),
                             reference(pattern, absolute(a), absolute(b), batch),
                             [&](std::size_t) { return batch; });
}

TEST(Sddmm, MultipliesByHandAndIgnoresThePatternsValues) {
  const CsrMatrix pattern{3, 2, {0, 1, 1, 3}, {1, 0, 1}, {kNan, kNan, kNan}};
  const Dense a{1, 2, 3, 4, 5, 6};
  const Dense b{10, 20, 30, 40};
  const Dense expected{110, 170, 390};
  EXPECT_EQ(reference(pattern, a, b, 2), expected);
  for_each_target([&] { EXPECT_EQ(fast(pattern, a, b, 2), expected); });
}

TEST(Sddmm, AgreesWithTheReferenceForEveryBatch) {
  const CsrMatrix pattern = random_csr(7, 9, 0.4, 1);
  for_each_target([&] {
    for (std::size_t batch = 1; batch <= 140; ++batch) {
      const auto a = random_dense(pattern.rows * batch, 2);
      const auto b = random_dense(pattern.cols * batch, 3);
      EXPECT_TRUE(agrees(pattern, a, b, batch)) << batch;
    }
  });
}

TEST(Sddmm, AgreesWithTheReferenceForAnyPattern) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto pattern = *any_csr();
      const auto batch = *rc::gen::inRange<std::size_t>(1, 40);
      const auto a = random_dense(pattern.rows * batch, 4);
      const auto b = random_dense(pattern.cols * batch, 5);
      RC_ASSERT(static_cast<bool>(agrees(pattern, a, b, batch)));
    }));
  });
}

TEST(Sddmm, PropagatesNanAndInfinityAsTheReference) {
  const CsrMatrix pattern = random_csr(5, 6, 0.6, 6);
  for_each_target([&] {
    for (const std::size_t batch : {1, 3, 16, 37, 70}) {
      for (const float special : {kNan, kInfinity, -kInfinity}) {
        auto a = random_dense(pattern.rows * batch, 7);
        auto b = random_dense(pattern.cols * batch, 8);
        a.front() = special;
        b.back() = special;
        a[a.size() / 2] = 0;
        b[b.size() / 2] = -special;
        EXPECT_TRUE(agrees(pattern, a, b, batch)) << batch;
      }
    }
  });
}

TEST(Sddmm, GivesTheSameBitsForAnyNumberOfThreads) {
  const CsrMatrix pattern = random_csr(400, 300, 0.1, 9);  // tasks begin and end inside rows
  for (const std::size_t batch : {32, 37}) {
    const auto a = random_dense(pattern.rows * batch, 10);
    const auto b = random_dense(pattern.cols * batch, 11);
    const auto expected = bits(fast(pattern, a, b, batch));
    EXPECT_TRUE(agrees(pattern, a, b, batch));
    for_thread_counts([&] { EXPECT_EQ(bits(fast(pattern, a, b, batch)), expected); });
  }
}

TEST(Sddmm, GivesAnEntryTheSameBitsWhereverItStands) {
  const std::size_t batch = 64;
  const auto a = random_dense(batch, 12);
  const auto b = random_dense(9 * batch, 13);
  for_each_target([&] {
    const Dense all = fast(CsrMatrix{1, 9, {0, 9}, {0, 1, 2, 3, 4, 5, 6, 7, 8}, Dense(9)}, a, b, batch);
    for (Index c = 0; c < 9; ++c)
      EXPECT_EQ(bits(fast(CsrMatrix{1, 9, {0, 1}, {c}, {0}}, a, b, batch)), bits(Dense{all[c]})) << c;
  });
}

}  // namespace
}  // namespace filigree::internal
