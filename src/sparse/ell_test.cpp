// SPDX-License-Identifier: Apache-2.0
// Tests of ELL: padding, validation and the way to CSR and back.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

constexpr Index kPad = kEllPadding;

EllMatrix small() {
  return {3, 4, 2, {0, 3, kPad, kPad, 1, kPad}, {1, 2, 0, 0, 3, 0}};
}

std::string complaint(const EllMatrix& m) {
  return error_of([&] { validate(m, "W"); });
}

TEST(EllFromCsr, PadsEveryRowToTheLongest) {
  const CsrMatrix m{3, 4, {0, 2, 2, 3}, {0, 3, 1}, {1, 2, 3}};
  EXPECT_EQ(to_ell(m.view()), small());
}

TEST(EllRoundTrip, RestoresTheCsr) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const EllMatrix ell = to_ell(m.view());
    validate(ell);
    RC_ASSERT(to_csr(ell) == m);
  }));
}

TEST(EllRoundTrip, KeepsExplicitZeros) {
  const CsrMatrix m{1, 2, {0, 2}, {0, 1}, {0, 5}};
  EXPECT_EQ(to_csr(to_ell(m.view())), m);
}

TEST(EllValidate, NamesRowAndPlace) {
  EllMatrix m = small();
  m.column[4] = 4;
  EXPECT_EQ(complaint(m), "W: row 2, position 0: column 4, but the matrix has 4 columns");
  m = small();
  m.column[0] = 3;
  EXPECT_EQ(complaint(m), "W: row 0, position 1: column 3 follows column 3; they must increase");
  m = small();
  m.column[3] = 2;
  EXPECT_EQ(complaint(m), "W: row 1, position 1: column 2 after padding");
  m = small();
  m.value[5] = 8;
  EXPECT_EQ(complaint(m), "W: row 2, position 1: padding holds 8, not 0");
  m = small();
  m.width = 3;
  EXPECT_EQ(complaint(m), "W: 6 columns and 6 values, but 3 rows of width 3 need 9");
  m = small();
  m.width = -1;
  EXPECT_EQ(complaint(m), "W: 3 rows, 4 columns, width -1; none may be negative");
}

}  // namespace
}  // namespace filigree::internal
