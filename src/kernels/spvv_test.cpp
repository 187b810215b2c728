// SPDX-License-Identifier: Apache-2.0
// Tests of spVV against its reference and by hand.
#include "kernels/spvv.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

SparseVectorView row_of(const CsrView& m, Index r) {
  return {m.row_columns(r), m.row_values(r)};
}

TEST(SpvvDense, SumsTheEntriesThatTheSparseVectorHolds) {
  const std::vector<Index> index{0, 2, 3};
  const std::vector<float> value{1, 10, 100};
  const std::vector<float> x{1, 2, 3, 4, 5};
  EXPECT_EQ(spvv({index, value}, x), 431);
  EXPECT_EQ(spvv_reference({index, value}, x), 431);
  EXPECT_EQ(spvv({}, x), 0);
}

TEST(SpvvDense, AgreesWithTheReferenceForEveryLength) {
  for (Index length = 0; length <= 40; ++length) {
    const CsrMatrix m = one_row(length, 1);
    const CsrMatrix abs_m = absolute(m);
    const auto x = random_dense(m.cols, 2);
    const float expected = spvv_reference(row_of(m.view(), 0), x);
    const float magnitude = spvv_reference(row_of(abs_m.view(), 0), absolute(x));
    EXPECT_TRUE(within_rounding(spvv(row_of(m.view(), 0), x), expected, magnitude, length)) << length;
  }
}

TEST(SpvvSparse, SumsTheIndicesThatBothHold) {
  const std::vector<Index> in_a{1, 4, 7, 9};
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<Index> in_b{0, 4, 8, 9};
  const std::vector<float> b{10, 20, 30, 40};
  EXPECT_EQ(spvv({in_a, a}, {in_b, b}), 200);
  EXPECT_EQ(spvv_reference({in_a, a}, {in_b, b}), 200);
  EXPECT_EQ(spvv({in_a, a}, SparseVectorView{}), 0);
}

TEST(SpvvSparse, AgreesWithTheReference) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    RC_PRE(m.rows >= 2);
    const CsrMatrix abs_m = absolute(m);
    const float expected = spvv_reference(row_of(m.view(), 0), row_of(m.view(), 1));
    const float magnitude = spvv_reference(row_of(abs_m.view(), 0), row_of(abs_m.view(), 1));
    RC_ASSERT(within_rounding(spvv(row_of(m.view(), 0), row_of(m.view(), 1)), expected, magnitude, m.cols));
  }));
}

TEST(Spvv, PropagatesNanAndInfinityOnlyFromEntriesThatMeet) {
  const std::vector<Index> index{1, 3};
  const std::vector<float> value{2, 0};
  const std::vector<float> outside{kNan, 5, kInfinity, 6};
  EXPECT_EQ(spvv({index, value}, outside), 10);
  const std::vector<float> infinite{0, -kInfinity, 0, 6};
  EXPECT_EQ(spvv({index, value}, infinite), -kInfinity);
  const std::vector<float> times_zero{0, 5, 0, kInfinity};
  EXPECT_TRUE(std::isnan(spvv({index, value}, times_zero)));
  EXPECT_TRUE(std::isnan(spvv_reference({index, value}, times_zero)));

  const std::vector<Index> other{0, 1};
  const std::vector<float> nan_apart{kNan, 3};
  EXPECT_EQ(spvv({index, value}, {other, nan_apart}), 6);
  const std::vector<float> nan_together{3, kNan};
  EXPECT_TRUE(std::isnan(spvv({index, value}, {other, nan_together})));
}

}  // namespace
}  // namespace filigree::internal
