// SPDX-License-Identifier: Apache-2.0
// Draws the split and gathers rows.
#include "data/split.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/parallel.h"
#include "base/random.h"

namespace filigree::internal {
namespace {

constexpr std::uint64_t kSplitStream = 0x73706c6974;  // "split": far from the small numbers others use

template <typename T>
Buffer<T> take_dense(const Buffer<T>& from, std::size_t features, std::span<const Index> rows) {
  Buffer<T> taken(from.empty() ? 0 : rows.size() * features);
  if (taken.empty()) return taken;
  parallel_for(rows.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r)
      std::copy_n(from.data() + rows[r] * features, features, taken.data() + r * features);
  });
  return taken;
}

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

std::uint64_t hash_of_rows(const DataRows& rows) {
  const auto hash_bytes = [](const void* data, std::size_t size, std::uint64_t hash) {
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
  };
  const std::size_t features = rows.features;
  std::uint64_t sum = 1;
  for (Index r = 0; r < rows.rows; ++r) {
    std::uint64_t hash = features;
    if (rows.sparse()) {
      const std::size_t begin = rows.row_begin[r];
      const std::size_t size = rows.row_begin[r + 1] - begin;
      hash = hash_bytes(rows.column.data() + begin, size * sizeof(Index), hash);
      hash = hash_bytes(rows.value.data() + begin, size * sizeof(float), hash);
    } else if (!rows.bytes.empty()) {
      hash = hash_bytes(rows.bytes.data() + r * features, features, hash);
    } else {
      hash = hash_bytes(rows.floats.data() + r * features, features * sizeof(float), hash);
    }
    sum += mix64(hash);
  }
  return std::max<std::uint64_t>(1, sum);
}

void draw_parts(const DataRows& rows, const DataOptions& options, Dataset& set) {
  const Split split = split_rows(rows.rows, options.test_share, options.seed);
  set.train = take_rows(rows, split.train);
  set.test = take_rows(rows, split.test);
  set.test_drawn = true;
  set.origin.all_rows = hash_of_rows(rows);
  set.origin.train_rows = hash_of_rows(set.train);
}

DataRows take_rows(const DataRows& from, std::span<const Index> rows) {
  DataRows taken;
  taken.rows = rows.size();
  taken.features = from.features;
  if (!from.label.empty()) {
    taken.label.reserve(rows.size());
    for (const Index row : rows) taken.label.push_back(from.label[row]);
  }
  const std::size_t targets = from.rows == 0 ? 0 : from.target.size() / from.rows;
  for (const Index row : rows) {
    const auto begin = from.target.begin() + static_cast<std::ptrdiff_t>(row * targets);
    taken.target.insert(taken.target.end(), begin, begin + static_cast<std::ptrdiff_t>(targets));
    if (!from.weight.empty()) taken.weight.push_back(from.weight[row]);
  }
  const std::size_t features = from.features;
  taken.bytes = take_dense(from.bytes, features, rows);
  taken.floats = take_dense(from.floats, features, rows);
  if (from.sparse()) {
    taken.row_begin.push_back(0);
    for (const Index row : rows) {
      const std::ptrdiff_t begin = from.row_begin[row];
      const std::ptrdiff_t end = from.row_begin[row + 1];
      taken.column.insert(taken.column.end(), from.column.begin() + begin, from.column.begin() + end);
      taken.value.insert(taken.value.end(), from.value.begin() + begin, from.value.begin() + end);
      taken.row_begin.push_back(taken.column.size());
    }
  }
  return taken;
}

}  // namespace filigree::internal
