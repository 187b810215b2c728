// SPDX-License-Identifier: Apache-2.0
// Tests of CSR validation and transposition.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include <limits>

#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// 1 . 2
// . . .
// . 3 4
CsrMatrix small() {
  return {3, 3, {0, 2, 2, 4}, {0, 2, 1, 2}, {1, 2, 3, 4}};
}

std::string complaint(const CsrMatrix& m) {
  return error_of([&] { validate(m.view(), "W"); });
}

TEST(CsrValidate, AcceptsSoundMatricesWhateverTheirValues) {
  CsrMatrix m = small();
  m.value[0] = std::numeric_limits<float>::quiet_NaN();
  m.value[1] = std::numeric_limits<float>::infinity();
  m.value[2] = 0;
  EXPECT_EQ(complaint(m), "");
  EXPECT_EQ(complaint(CsrMatrix{}), "");
  EXPECT_EQ(complaint({0, 5, {0}, {}, {}}), "");
  EXPECT_EQ(complaint({2, 0, {0, 0, 0}, {}, {}}), "");
}

TEST(CsrValidate, NamesTheRowWhereOffsetsDecrease) {
  CsrMatrix m = small();
  m.row_begin = {0, 3, 2, 4};
  EXPECT_EQ(complaint(m), "W: row_begin decreases from 3 to 2 at row 1");
}

TEST(CsrValidate, NamesTheColumnOutOfRange) {
  CsrMatrix m = small();
  m.column[3] = 3;
  EXPECT_EQ(complaint(m), "W: row 2, entry 3: column 3, but the matrix has 3 columns");
  m.column[3] = -1;
  EXPECT_EQ(complaint(m), "W: row 2, entry 3: column -1, but the matrix has 3 columns");
}

TEST(CsrValidate, RejectsColumnsThatDoNotIncrease) {
  CsrMatrix m = small();
  m.column = {2, 0, 1, 2};
  EXPECT_EQ(complaint(m), "W: row 0, entry 1: column 0 follows column 2; they must increase");
  m.column = {0, 2, 1, 1};
  EXPECT_EQ(complaint(m), "W: row 2, entry 3: column 1 follows column 1; they must increase");
}

TEST(CsrValidate, RejectsArraysOfTheWrongLength) {
  CsrMatrix m = small();
  m.row_begin.pop_back();
  EXPECT_EQ(complaint(m), "W: row_begin holds 3 offsets, but 3 rows need 4");
  m = small();
  m.row_begin[0] = 1;
  EXPECT_EQ(complaint(m), "W: row_begin[0] is 1, not 0");
  m = small();
  m.row_begin[3] = 5;
  EXPECT_EQ(complaint(m), "W: row_begin ends at 5, but there are 4 column indices");
  m = small();
  m.value.pop_back();
  EXPECT_EQ(complaint(m), "W: 3 values for 4 entries");
  m = small();
  m.cols = -1;
  EXPECT_EQ(complaint(m), "W: 3 rows and -1 columns; neither may be negative");
}

TEST(CsrTranspose, ExchangesRowsAndColumns) {
  const CsrMatrix expected{3, 3, {0, 1, 2, 4}, {0, 2, 0, 2}, {1, 3, 2, 4}};
  EXPECT_EQ(transpose(small().view()), expected);
  const CsrMatrix flat{0, 4, {0}, {}, {}};
  const CsrMatrix tall{4, 0, {0, 0, 0, 0, 0}, {}, {}};
  EXPECT_EQ(transpose(flat.view()), tall);
}

TEST(CsrTranspose, IsSoundAndItsOwnInverse) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const CsrMatrix t = transpose(m.view());
    validate(t.view());
    RC_ASSERT(transpose(t.view()) == m);
  }));
}

TEST(FullMatrix, HasEveryEntryInItsPlace) {
  const CsrMatrix m = full_matrix(2, 3, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(m, (CsrMatrix{2, 3, {0, 3, 6}, {0, 1, 2, 0, 1, 2}, {1, 2, 3, 4, 5, 6}}));
  EXPECT_TRUE(is_full(m.view()));
  EXPECT_FALSE(is_full(small().view()));
  EXPECT_FALSE(is_full(CsrMatrix{}.view()));
  EXPECT_FALSE(is_full(full_matrix(3, 0, {}).view()));
}

}  // namespace
}  // namespace filigree::internal
