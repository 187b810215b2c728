// SPDX-License-Identifier: Apache-2.0
// Draws the split and gathers rows.
#include "data/split.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/parallel.h"
#include "base/random.h"
#include "base/system.h"
#include "data/data_rows.h"

namespace filigree::internal {
namespace {

constexpr Index kForgotten = 1 << 14;                 // rows on disk that are let go together
constexpr std::uint64_t kSplitStream = 0x73706c6974;  // "split": far from the small numbers others use

}  // namespace

Split split_rows(Index rows, double test_share, std::uint64_t seed) {
  assert(rows > 0 && test_share >= 0 && test_share < 1);
  std::vector<Index> order(rows);
  std::iota(order.begin(), order.end(), 0);
  Random(seed, kSplitStream).shuffle(std::span(order));
  const auto test_rows = std::min<std::ptrdiff_t>(std::lround(test_share * rows), rows - 1);
  Split split = {{order.begin() + test_rows, order.end()}, {order.begin(), order.begin() + test_rows}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

namespace {

std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t hash) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (; size > 0;) {
    std::uint64_t word = 0;
    const std::size_t taken = std::min<std::size_t>(size, sizeof word);
    std::memcpy(&word, bytes, taken);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
    bytes += taken;
    size -= taken;
  }
  return hash;
}

// Of rows [begin, end), added up, so that neither order nor threads matter.
std::uint64_t hash_sum(const DataRows& rows, std::size_t begin, std::size_t end) {
  const std::size_t features = rows.features;
  std::vector<float> wide(rows.pixels ? 0 : features);
  std::uint64_t sum = 0;
  for (std::size_t r = begin; r < end; ++r) {
    std::uint64_t hash = features;
    if (rows.sparse()) {
      const std::size_t first = rows.row_begin[r];
      const std::size_t size = rows.row_begin[r + 1] - first;
      hash = hash_bytes(rows.column.data() + first, size * sizeof(Index), hash);
      hash = hash_bytes(rows.value.data() + first, size * sizeof(float), hash);
    } else if (!rows.bytes.empty() && rows.pixels) {
      hash = hash_bytes(rows.bytes.data() + r * features, features, hash);
    } else if (!rows.bytes.empty()) {  // as the floats that they were
      std::copy_n(rows.bytes.data() + r * features, features, wide.begin());
      hash = hash_bytes(wide.data(), features * sizeof(float), hash);
    } else {
      hash = hash_bytes(rows.floats.data() + r * features, features * sizeof(float), hash);
    }
    sum += mix64(hash);
  }
  rows.forget(static_cast<Index>(begin), static_cast<Index>(end));
  return sum;
}

std::uint64_t hash_sum(const DataRows& rows) {
  std::atomic<std::uint64_t> sum = 0;
  parallel_for(rows.rows, kForgotten,
               [&](std::size_t begin, std::size_t end) { sum += hash_sum(rows, begin, end); });
  return sum;
}

}  // namespace

std::uint64_t hash_of_rows(const DataRows& rows) {
  return std::max<std::uint64_t>(1, 1 + hash_sum(rows));
}

void draw_parts(const DataRows& rows, const DataOptions& options, Dataset& set) {
  const Split split = split_rows(rows.rows, options.test_share, options.seed);
  const TakeOptions take{memory_limit_or_usual(options.memory_limit) / 4, fits_bytes(rows), set.name};
  set.train = take_rows(rows, split.train, take);
  set.test = take_rows(rows, split.test, take);
  set.test_drawn = true;
  const std::uint64_t train = hash_sum(set.train), test = hash_sum(set.test);
  set.origin.all_rows = std::max<std::uint64_t>(1, 1 + train + test);
  set.origin.train_rows = std::max<std::uint64_t>(1, 1 + train);
}

}  // namespace filigree::internal
