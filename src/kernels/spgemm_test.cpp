// SPDX-License-Identifier: Apache-2.0
// Tests of SpGEMM against its reference.
#include "kernels/spgemm.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

testing::AssertionResult agrees(const CsrMatrix& a, const CsrMatrix& b) {
  const CsrMatrix actual = spgemm(a.view(), b.view());
  const CsrMatrix expected = spgemm_reference(a.view(), b.view());
  validate(actual.view());
  if (actual.rows != expected.rows || actual.cols != expected.cols ||
      actual.row_begin != expected.row_begin || actual.column != expected.column) {
    return testing::AssertionFailure() << "another structure";
  }
  const CsrMatrix magnitude = spgemm_reference(absolute(a).view(), absolute(b).view());
  return all_within_rounding(actual.value, expected.value, magnitude.value,
                             [&](std::size_t) { return a.cols; });
}

TEST(Spgemm, MultipliesByHand) {
  // 1 2     . 5     12 5
  // . .  x  6 .  =   . .
  // . 3              18 .
  const CsrMatrix a{3, 2, {0, 2, 2, 3}, {0, 1, 1}, {1, 2, 3}};
  const CsrMatrix b{2, 2, {0, 1, 2}, {1, 0}, {5, 6}};
  const CsrMatrix expected{3, 2, {0, 2, 2, 3}, {0, 1, 0}, {12, 5, 18}};
  EXPECT_EQ(spgemm(a.view(), b.view()), expected);
  EXPECT_EQ(spgemm_reference(a.view(), b.view()), expected);
}

TEST(Spgemm, KeepsEntriesWhoseSumIsZero) {
  const CsrMatrix a{1, 2, {0, 2}, {0, 1}, {1, -1}};
  const CsrMatrix b{2, 1, {0, 1, 2}, {0, 0}, {4, 4}};
  const CsrMatrix expected{1, 1, {0, 1}, {0}, {0}};
  EXPECT_EQ(spgemm(a.view(), b.view()), expected);
  EXPECT_EQ(spgemm_reference(a.view(), b.view()), expected);
}

TEST(Spgemm, AgreesWithTheReferenceForAnyMatrices) {
  EXPECT_TRUE(rc::check([] {
    const auto a = *any_csr();
    const auto b = *any_csr_with_rows(a.cols);
    RC_ASSERT(static_cast<bool>(agrees(a, b)));
  }));
}

TEST(Spgemm, PropagatesNanAndInfinityAsTheReference) {
  CsrMatrix a = random_csr(6, 6, 0.6, 1);
  CsrMatrix b = random_csr(6, 6, 0.6, 2);
  for (const float special : {kNan, kInfinity, -kInfinity}) {
    a.value.front() = special;
    b.value.back() = special;
    b.value.front() = 0;
    EXPECT_TRUE(agrees(a, b));
  }
}

TEST(Spgemm, GivesTheSameBitsForAnyNumberOfThreads) {
  const CsrMatrix a = random_csr(300, 120, 0.1, 3);  // several takes of rows
  const CsrMatrix b = random_csr(120, 200, 0.1, 4);
  EXPECT_TRUE(agrees(a, b));
  const auto expected = bits(spgemm(a.view(), b.view()).value);
  for_thread_counts([&] { EXPECT_EQ(bits(spgemm(a.view(), b.view()).value), expected); });
}

}  // namespace
}  // namespace filigree::internal
