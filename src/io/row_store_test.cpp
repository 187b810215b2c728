// SPDX-License-Identifier: Apache-2.0
// Tests of numbers that may not fit into memory.
#include "io/row_store.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

TEST(RowStore, GivesBackWhatCameInMemoryAndOnDisk) {
  const std::vector<float> values = counting(3'000'000);
  for (const std::uint64_t most :
       {std::uint64_t{0}, std::uint64_t{100}, std::uint64_t{1} << 20, std::uint64_t{1} << 30})
    for (const std::size_t piece : {std::size_t{7}, std::size_t{1024}, values.size()}) {
      RowStore<float> store("rows", most);
      for (std::size_t i = 0; i < values.size(); i += piece)
        store.append(std::span(values).subspan(i, std::min(piece, values.size() - i)));
      EXPECT_EQ(store.size(), values.size());
      EXPECT_EQ(store.on_disk(), most < values.size() * sizeof(float));
      const Buffer<float> taken = store.take();
      EXPECT_EQ(taken.on_disk(), most < values.size() * sizeof(float));
      EXPECT_TRUE(std::ranges::equal(taken, values));
      taken.forget(0, taken.size());
      taken.fetch(5, 1000);
      EXPECT_TRUE(std::ranges::equal(taken, values)) << "it is read again";
    }
}

TEST(RowStore, IsEmptyAtFirstAndOfASmallSize) {
  EXPECT_TRUE(RowStore<float>("rows", 0).take().empty());
  RowStore<std::uint8_t> one("rows", 0);
  const std::uint8_t byte = 5;
  one.append({&byte, 1});
  const Buffer<std::uint8_t> taken = one.take();
  EXPECT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0], 5);
}

TEST(RowStore, NamesAPlaceThatTakesNoRows) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  setenv("TMPDIR", "/nowhere", 1);
  const std::vector<float> values = counting(10);
  const std::string message = error_of([&] {
    RowStore<float> store("homes.csv", 8);
    store.append(values);
  });
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
  EXPECT_EQ(
      message,
      "homes.csv: rows of more than 8 bytes go to a file in /nowhere, but there is none to be had: No such "
      "file or directory");
}

}  // namespace
}  // namespace filigree::internal
