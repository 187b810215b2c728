// SPDX-License-Identifier: Apache-2.0
// Tests of the order in which an epoch takes its rows.
#include "train/row_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "data/data_rows.h"

namespace filigree::internal {
namespace {

constexpr Index kRows = 1000, kFeatures = 4;

DataRows some_rows() {
  DataRows data;
  data.rows = kRows;
  data.features = kFeatures;
  data.floats = Buffer<float>(kRows * kFeatures);
  std::iota(data.floats.begin(), data.floats.end(), 0.5f);
  return data;
}

std::vector<Index> every_other() {
  std::vector<Index> rows;
  for (Index r = 0; r < kRows; r += 2) rows.push_back(r);
  return rows;
}

TEST(RowOrder, HasEveryRowOnceInOneBlockOrMany) {
  const DataRows data = some_rows();
  const std::vector<Index> rows = every_other();
  for (const std::uint64_t block : {1, 16, 160, 1000, 100'000})
    for (const std::size_t window : {1, 3, 64}) {
      Random random(3);
      std::vector<Index> order = RowOrder(data, rows, random, {0, block, window}).rows();
      EXPECT_FALSE(std::ranges::is_sorted(order));
      std::ranges::sort(order);
      EXPECT_EQ(order, rows) << block << " " << window;
    }
}

TEST(RowOrder, OfASmallSetIsAShuffleOfAllRows) {
  const DataRows data = some_rows();
  std::vector<Index> rows = every_other();
  Random random(5), same(5);
  const std::vector<Index> order = RowOrder(data, rows, random).rows();
  same.shuffle(std::span(rows));
  EXPECT_EQ(order, rows);
}

TEST(RowOrder, StaysWithinAWindow) {
  const DataRows data = some_rows();
  std::vector<Index> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  Random random(7);
  // Blocks of ten rows, windows of five of them.
  const std::vector<Index> order = RowOrder(data, rows, random, {0, 160, 5}).rows();
  std::vector<Index> firsts;
  for (std::size_t w = 0; w < 20; ++w) {
    std::vector<Index> blocks;
    for (std::size_t i = 0; i < 50; ++i) blocks.push_back(order[w * 50 + i] / 10);
    EXPECT_FALSE(std::ranges::is_sorted(blocks)) << "rows of its blocks are mixed";
    std::ranges::sort(blocks);
    EXPECT_EQ(std::unique(blocks.begin(), blocks.end()) - blocks.begin(), 5);
    firsts.push_back(blocks.front());
  }
  EXPECT_FALSE(std::ranges::is_sorted(firsts)) << "blocks come in random order";
}

TEST(RowOrder, IsTheSameForRowsOnDiskWhichStayReadable) {
  const DataRows data = some_rows();
  std::vector<Index> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  const DataRows on_disk = take_rows(data, rows, {.memory = 0});
  ASSERT_TRUE(on_disk.on_disk());
  for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{1} << 30}) {
    Random random(7), same(7);
    const RowOrder order(data, rows, random, {from, 160, 5});
    RowOrder other(on_disk, rows, same, {from, 160, 5});
    EXPECT_EQ(order.rows(), other.rows());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      other.advance(i);
      const std::size_t at = static_cast<std::size_t>(other.rows()[i]) * kFeatures;
      ASSERT_EQ(on_disk.floats[at], data.floats[at]);
    }
    other.advance(rows.size());
  }
}

}  // namespace
}  // namespace filigree::internal
