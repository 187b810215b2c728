// SPDX-License-Identifier: Apache-2.0
// Tests of CSC: validation and the way to CSR and back.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// 1 . 2
// . 3 4
CsrMatrix small() {
  return {2, 3, {0, 2, 4}, {0, 2, 1, 2}, {1, 2, 3, 4}};
}

TEST(CscFromCsr, ListsTheRowsOfEachColumn) {
  const CscMatrix expected{2, 3, {0, 1, 2, 4}, {0, 1, 0, 1}, {1, 3, 2, 4}};
  EXPECT_EQ(to_csc(small().view()), expected);
}

TEST(CscRoundTrip, RestoresTheCsr) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const CscMatrix csc = to_csc(m.view());
    validate(csc.view());
    RC_ASSERT(to_csr(csc.view()) == m);
  }));
}

TEST(CscValidate, SpeaksOfColumnsThatHoldRows) {
  const CscMatrix sound = to_csc(small().view());
  CscMatrix m = sound;
  m.column_begin[2] = 0;
  EXPECT_EQ(error_of([&] { validate(m.view(), "W"); }), "W: column_begin decreases from 1 to 0 at column 1");
  m = sound;
  m.row[3] = 2;
  EXPECT_EQ(error_of([&] { validate(m.view(), "W"); }),
            "W: column 2, entry 3: row 2, but the matrix has 2 rows");
  m = sound;
  m.row[3] = 0;
  EXPECT_EQ(error_of([&] { validate(m.view(), "W"); }),
            "W: column 2, entry 3: row 0 follows row 0; they must increase");
  m = sound;
  m.value.pop_back();
  EXPECT_EQ(error_of([&] { validate(m.view(), "W"); }), "W: 3 values for 4 entries");
}

}  // namespace
}  // namespace filigree::internal
