// Draws the split and gathers rows.
#include "data/split.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace filigree {
namespace {

constexpr std::uint64_t kSplitStream = 0x73706c6974;  // "split": far from the small numbers others use

template <typename T>
Buffer<T> take_dense(const Buffer<T>& from, std::size_t features, std::span<const Index> rows) {
  Buffer<T> taken(from.empty() ? 0 : rows.size() * features);
  T* out = taken.data();
  for (std::size_t r = 0; r < rows.size() && !taken.empty(); ++r) {
    out = std::copy_n(from.data() + static_cast<std::size_t>(rows[r]) * features, features, out);
  }
  return taken;
}

}  // namespace

Split split_rows(Index rows, double test_share, std::uint64_t seed) {
  assert(rows > 0 && test_share >= 0 && test_share < 1);
  std::vector<Index> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  Random(seed, kSplitStream).shuffle(std::span(order));
  const auto test_rows = std::min<std::ptrdiff_t>(std::lround(test_share * rows), rows - 1);
  Split split = {{order.begin() + test_rows, order.end()}, {order.begin(), order.begin() + test_rows}};
  std::ranges::sort(split.train);
  std::ranges::sort(split.test);
  return split;
}

DataRows take_rows(const DataRows& from, std::span<const Index> rows) {
  DataRows taken;
  taken.rows = static_cast<Index>(rows.size());
  taken.features = from.features;
  if (!from.label.empty()) {
    taken.label.reserve(rows.size());
    for (const Index row : rows) taken.label.push_back(from.label[static_cast<std::size_t>(row)]);
  }
  const auto features = static_cast<std::size_t>(from.features);
  taken.bytes = take_dense(from.bytes, features, rows);
  taken.floats = take_dense(from.floats, features, rows);
  if (from.sparse()) {
    taken.row_begin.push_back(0);
    for (const Index row : rows) {
      const auto begin = static_cast<std::ptrdiff_t>(from.row_begin[static_cast<std::size_t>(row)]);
      const auto end = static_cast<std::ptrdiff_t>(from.row_begin[static_cast<std::size_t>(row) + 1]);
      taken.column.insert(taken.column.end(), from.column.begin() + begin, from.column.begin() + end);
      taken.value.insert(taken.value.end(), from.value.begin() + begin, from.value.begin() + end);
      taken.row_begin.push_back(static_cast<Offset>(taken.column.size()));
    }
  }
  return taken;
}

}  // namespace filigree
