// SPDX-License-Identifier: Apache-2.0
// Tests of what public products say about arrays that do not fit.
#include <gtest/gtest.h>

#include "filigree/sparse.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

TEST(Products, SayWhichArrayDoesNotFit) {
  const CsrMatrix a{2, 3, {0, 1, 3}, {0, 1, 2}, {1, 2, 3}};
  const CscMatrix by_column = to_csc(a.view());
  std::vector<float> two(2), three(3), four(4), six(6);
  EXPECT_EQ(complaint_of([&] { spmv(a.view(), two, two); }), "spmv: x holds 2 values, not 3");
  EXPECT_EQ(complaint_of([&] { spmv(a.view(), three, three); }), "spmv: y holds 3 values, not 2");
  EXPECT_EQ(complaint_of([&] { spmm(a.view(), six, 2, three); }), "spmm: y holds 3 values, not 4");
  EXPECT_EQ(complaint_of([&] { spmm(a.view(), four, 2, four); }), "spmm: x holds 4 values, not 6");
  EXPECT_EQ(complaint_of([&] { spmm_transposed(by_column.view(), six, 2, six); }),
            "spmm_transposed: x holds 6 values, not 4");
  EXPECT_EQ(complaint_of([&] { sddmm(a.view(), four, six, 2, two); }), "sddmm: value holds 2 values, not 3");
  EXPECT_EQ(complaint_of([&] { sddmm(a.view(), six, six, 2, three); }), "sddmm: a holds 6 values, not 4");
  EXPECT_EQ(complaint_of([&] { spgemm(a.view(), a.view()); }), "spgemm: 3 columns times 2 rows");
  EXPECT_EQ(complaint_of([&] { spvv({a.column, two}, three); }), "spvv: a.value holds 2 values, not 3");
}

TEST(Products, ComputeByHand) {
  const CsrMatrix a{2, 3, {0, 1, 3}, {0, 1, 2}, {1, 2, 3}};  // 1 0 0 / 0 2 3
  std::vector<float> y(2), x = {5, 6, 7};
  spmv(a.view(), x, y);
  EXPECT_EQ(y, (std::vector<float>{5, 33}));
  EXPECT_EQ(spgemm(a.view(), transpose(a.view()).view()), (CsrMatrix{2, 2, {0, 1, 2}, {0, 1}, {1, 13}}));
  std::vector<float> back(3);
  spmm_transposed(to_csc(a.view()).view(), y, 1, back);
  EXPECT_EQ(back, (std::vector<float>{5, 66, 99}));
}

}  // namespace
}  // namespace filigree::internal
