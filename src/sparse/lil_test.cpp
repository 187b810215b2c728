// SPDX-License-Identifier: Apache-2.0
// Tests of LIL: changes one by one against a map, validation and the way to CSR and back.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/random.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

TEST(LilMatrix, InsertsFindsAndErases) {
  LilMatrix m(2, 5);
  EXPECT_TRUE(m.insert(1, 3, 30));
  EXPECT_TRUE(m.insert(1, 0, 10));
  EXPECT_FALSE(m.insert(1, 3, 99));
  EXPECT_EQ(m.find(1, 3), 30.0F);
  EXPECT_EQ(m.find(1, 2), std::nullopt);
  EXPECT_EQ(m.find(0, 3), std::nullopt);
  EXPECT_EQ(to_csr(m), (CsrMatrix{2, 5, {0, 0, 2}, {0, 3}, {10, 30}}));
  EXPECT_TRUE(m.erase(1, 0));
  EXPECT_FALSE(m.erase(1, 0));
  EXPECT_EQ(m.nnz(), 1);
}

TEST(LilMatrix, StaysSoundAndEqualToAMapThroughRandomChanges) {
  EXPECT_TRUE(rc::check([] {
    const auto rows = *rc::gen::inRange<Index>(1, 5);
    const auto cols = *rc::gen::inRange<Index>(1, 8);
    LilMatrix m(rows, cols);
    std::map<std::pair<Index, Index>, float> model;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    for (int step = 0; step < 100; ++step) {
      const Index r = random.below(rows);
      const Index c = random.below(cols);
      const auto value = static_cast<float>(step);
      if (random.below(2) == 0) {
        RC_ASSERT(m.insert(r, c, value) == model.try_emplace({r, c}, value).second);
      } else {
        RC_ASSERT(m.erase(r, c) == (model.erase({r, c}) == 1));
      }
      const auto found = model.find({r, c});
      RC_ASSERT(m.find(r, c) == (found == model.end() ? std::nullopt : std::optional(found->second)));
    }
    validate(m);
    RC_ASSERT(m.nnz() == static_cast<Offset>(model.size()));
  }));
}

TEST(LilRoundTrip, RestoresTheCsr) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const LilMatrix lil = to_lil(m.view());
    validate(lil);
    RC_ASSERT(to_csr(lil) == m);
  }));
}

TEST(LilValidate, NamesTheRow) {
  LilMatrix m(2, 3);
  m.row[1] = {{0, 1}, {3, 1}};
  EXPECT_EQ(error_of([&] { validate(m, "W"); }), "W: row 1: column 3, but the matrix has 3 columns");
  m.row[1] = {{2, 1}, {1, 1}};
  EXPECT_EQ(error_of([&] { validate(m, "W"); }), "W: row 1: column 1 follows column 2; they must increase");
  m.rows = 3;
  EXPECT_EQ(error_of([&] { validate(m, "W"); }), "W: 2 lists, but the matrix has 3 rows");
  m.rows = -1;
  EXPECT_EQ(error_of([&] { validate(m, "W"); }), "W: -1 rows and 3 columns; neither may be negative");
}

}  // namespace
}  // namespace filigree::internal
