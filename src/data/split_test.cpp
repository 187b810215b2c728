// SPDX-License-Identifier: Apache-2.0
// Splits are draws by seed.
#include "data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace filigree::internal {
namespace {

using Indices = std::vector<Index>;

Indices first_rows(Index count) {
  Indices rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

TEST(Split, IsDecidedByTheSeed) {
  const Split one = split_rows(1000, 0.3, 7);
  EXPECT_EQ(one.test.size(), 300U);
  EXPECT_EQ(one.train.size(), 700U);
  EXPECT_EQ(split_rows(1000, 0.3, 7).test, one.test);
  EXPECT_NE(split_rows(1000, 0.3, 8).test, one.test);
  // A fair draw: the first half of the rows holds 150 of the 300, with a standard deviation of 7.2.
  EXPECT_NEAR(std::ranges::count_if(one.test, [](Index row) { return row < 500; }), 150, 36);
}

TEST(Split, PartsAreAscendingAndTogetherAllRows) {
  for (const Index rows : {1, 2, 3, 10, 101}) {
    for (const double share : {0.0, 0.2, 0.5, 0.999}) {
      const Split split = split_rows(rows, share, 3);
      EXPECT_TRUE(std::ranges::is_sorted(split.train));
      EXPECT_TRUE(std::ranges::is_sorted(split.test));
      EXPECT_FALSE(split.train.empty()) << rows << " rows, share " << share;
      EXPECT_EQ(split.test.empty(), share == 0 || rows == 1 || share * rows < 0.5);
      Indices both = split.train;
      both.insert(both.end(), split.test.begin(), split.test.end());
      std::ranges::sort(both);
      EXPECT_EQ(both, first_rows(rows));
    }
  }
}

}  // namespace
}  // namespace filigree::internal
