// SPDX-License-Identifier: Apache-2.0
// Tests of BSR: which blocks are kept, padding, validation and the way to CSR and back.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// 1 . .
// . 2 .
// . . 3     3 x 3 in blocks of 2: two blocks, the second padded on two sides
CsrMatrix diagonal() {
  return {3, 3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}};
}
BsrMatrix small() {
  return {3, 3, 2, {0, 1, 2}, {0, 1}, {1, 0, 0, 2, 3, 0, 0, 0}};
}

std::string complaint(const BsrMatrix& m) {
  return error_of([&] { validate(m, "W"); });
}

TEST(BsrFromCsr, PadsTheLastBlocksWithZeros) {
  EXPECT_EQ(to_bsr(diagonal().view(), 2), small());
}

TEST(BsrFromCsr, KeepsExactlyTheBlocksThatHoldAnEntry) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const auto block = *rc::gen::element<Index>(2, 4, 8, 16);
    std::set<std::pair<Index, Index>> expected;
    for (Index r = 0; r < m.rows; ++r) {
      for (const Index c : m.view().row_columns(r)) expected.emplace(r / block, c / block);
    }
    const BsrMatrix bsr = to_bsr(m.view(), block);
    std::set<std::pair<Index, Index>> actual;
    for (Index r = 0; r < bsr.block_rows(); ++r) {
      for (Offset b = bsr.row_begin[r]; b < bsr.row_begin[r + 1]; ++b) actual.emplace(r, bsr.column[b]);
    }
    RC_ASSERT(actual == expected);
    RC_ASSERT(bsr.column.size() == expected.size());
  }));
}

TEST(BsrRoundTrip, RestoresACsrWithoutZeros) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const BsrMatrix bsr = to_bsr(m.view(), *rc::gen::element<Index>(2, 4, 8, 16));
    validate(bsr);
    RC_ASSERT(to_csr(bsr) == m);
  }));
}

TEST(BsrRoundTrip, DropsExplicitZerosAndNothingElse) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const CsrMatrix m{1, 4, {0, 4}, {0, 1, 2, 3}, {0.0F, nan, -0.0F, 1e-45F}};
  const CsrMatrix back = to_csr(to_bsr(m.view(), 2));
  EXPECT_EQ(back.column, (std::vector<Index>{1, 3}));
  EXPECT_NE(back.value[0], back.value[0]);
  EXPECT_EQ(back.value[1], 1e-45F);
}

TEST(BsrFromCsr, RejectsOtherBlockSides) {
  for (const Index side : {-2, 0, 1, 3, 32}) {
    const std::string message = error_of([&] { to_bsr(diagonal().view(), side); });
    EXPECT_NE(message.find(fmt::format("{} x {}; the side must be 2, 4, 8 or 16", side, side)),
              std::string::npos)
        << message;
  }
}

TEST(BsrValidate, NamesTheBlockAndThePlace) {
  BsrMatrix m = small();
  m.block = 3;
  EXPECT_EQ(complaint(m), "W: blocks of 3 x 3; the side must be 2, 4, 8 or 16");
  m = small();
  m.rows = -3;
  EXPECT_EQ(complaint(m), "W: -3 rows and 3 columns; neither may be negative");
  m = small();
  m.column[1] = 2;
  EXPECT_EQ(complaint(m), "W: block row 1, entry 1: block column 2, but the matrix has 2 block columns");
  m = small();
  m.value[6] = 9;
  EXPECT_EQ(complaint(m), "W: block 1 holds 9 at row 3, column 2, beyond 3 x 3");
  m = small();
  m.value[5] = 9;
  EXPECT_EQ(complaint(m), "W: block 1 holds 9 at row 2, column 3, beyond 3 x 3");
  m = small();
  m.value.pop_back();
  EXPECT_EQ(complaint(m), "W: 7 values, but 2 blocks of 2 x 2 need 8");
}

}  // namespace
}  // namespace filigree::internal
