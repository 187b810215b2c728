// SPDX-License-Identifier: Apache-2.0
// Where the features of rows lie: in memory or on disk, as bytes where these hold them exactly.
#include "data/data_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/parallel.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kRowsAtATime = std::size_t{1} << 14;

// The given rows one after the other: at once on all threads where they fit into `memory` bytes, else through
// a file.
template <typename To, typename From>
Buffer<To> dense_rows(const DataRows& data, const Buffer<From>& from, std::span<const Index> rows,
                      const std::string& name, std::uint64_t memory) {
  const std::size_t features = data.features;
  const auto copy = [&](std::size_t begin, std::size_t end, To* to) {
    for (std::size_t r = begin; r < end; ++r, to += features)
      std::copy_n(from.data() + rows[r] * features, features, to);
  };
  if (from.empty()) return {};
  if (!from.on_disk() && rows.size() * features * sizeof(To) <= memory) {
    Buffer<To> taken(rows.size() * features);
    parallel_for(rows.size(), 1024, [&](std::size_t begin, std::size_t end) {
      copy(begin, end, taken.data() + begin * features);
    });
    return taken;
  }
  RowStore<To> store(name, memory);
  std::vector<To> some;
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsAtATime) {
    const std::size_t end = std::min(rows.size(), begin + kRowsAtATime);
    some.resize((end - begin) * features);
    copy(begin, end, some.data());
    store.append(some);
    data.forget(rows[begin], rows[end - 1]);
  }
  return store.take();
}

void take_sparse(const DataRows& from, std::span<const Index> rows, const std::string& name,
                 std::uint64_t memory, DataRows& taken) {
  RowStore<Index> columns(name, memory / 2);
  RowStore<float> values(name, memory / 2);
  taken.row_begin.reserve(rows.size() + 1);
  taken.row_begin.push_back(0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::size_t begin = from.row_begin[rows[r]], end = from.row_begin[rows[r] + 1];
    columns.append({from.column.data() + begin, end - begin});
    values.append({from.value.data() + begin, end - begin});
    taken.row_begin.push_back(static_cast<Offset>(values.size()));
    if (r % kRowsAtATime == 0) from.forget(rows[r / kRowsAtATime], rows[r]);
  }
  taken.column = columns.take();
  taken.value = values.take();
}

}  // namespace

std::size_t DataRows::feature_bytes() const {
  return bytes.size() + floats.size() * sizeof(float) + value.size() * (sizeof(Index) + sizeof(float));
}

namespace {

template <typename Do>
void for_buffers(const DataRows& rows, std::size_t first, std::size_t last, const Do& act) {
  const std::size_t width = rows.features;
  if (!rows.bytes.empty()) act(rows.bytes, first * width, (last - first) * width);
  if (!rows.floats.empty()) act(rows.floats, first * width, (last - first) * width);
  if (!rows.sparse()) return;
  const std::size_t begin = rows.row_begin[first], end = rows.row_begin[last];
  act(rows.column, begin, end - begin);
  act(rows.value, begin, end - begin);
}

}  // namespace

void DataRows::forget(Index first, Index last) const {
  if (!on_disk() || first >= last) return;
  for_buffers(*this, first, last,
              [](const auto& buffer, std::size_t at, std::size_t count) { buffer.forget(at, count); });
}

void DataRows::fetch(Index first, Index last) const {
  if (!on_disk() || first >= last) return;
  for_buffers(*this, first, last,
              [](const auto& buffer, std::size_t at, std::size_t count) { buffer.fetch(at, count); });
}

bool fits_bytes(const DataRows& rows) {
  const std::size_t width = rows.features;
  if (rows.floats.empty()) return false;
  for (Index r = 0; r < rows.rows; ++r) {
    const float* const row = rows.floats.data() + r * width;
    for (std::size_t f = 0; f < width; ++f)
      if (!(row[f] >= 0 && row[f] <= 255) || row[f] != static_cast<float>(static_cast<int>(row[f])) ||
          (row[f] == 0 && std::signbit(row[f])))
        return false;
    if (r % kRowsAtATime == 0 && r > 0) rows.forget(0, r);
  }
  return true;
}

DataRows take_rows(const DataRows& from, std::span<const Index> rows, const TakeOptions& options) {
  DataRows taken;
  taken.rows = static_cast<Index>(rows.size());
  taken.features = from.features;
  taken.pixels = from.pixels && !options.as_bytes;
  if (!from.label.empty()) {
    taken.label.reserve(rows.size());
    for (const Index row : rows) taken.label.push_back(from.label[row]);
  }
  const std::size_t targets = from.rows == 0 ? 0 : from.target.size() / from.rows;
  taken.target.reserve(targets * rows.size());
  for (const Index row : rows) {
    const auto begin = from.target.begin() + static_cast<std::ptrdiff_t>(row * targets);
    taken.target.insert(taken.target.end(), begin, begin + static_cast<std::ptrdiff_t>(targets));
    if (!from.weight.empty()) taken.weight.push_back(from.weight[row]);
  }
  taken.bytes = options.as_bytes
                    ? dense_rows<std::uint8_t>(from, from.floats, rows, options.name, options.memory)
                    : dense_rows<std::uint8_t>(from, from.bytes, rows, options.name, options.memory);
  if (!options.as_bytes)
    taken.floats = dense_rows<float>(from, from.floats, rows, options.name, options.memory);
  if (from.sparse()) take_sparse(from, rows, options.name, options.memory, taken);
  return taken;
}

DataRows narrowed(DataRows rows, const TakeOptions& options) {
  if (!fits_bytes(rows)) return rows;
  std::vector<Index> all(rows.rows);
  std::iota(all.begin(), all.end(), 0);
  TakeOptions take = options;
  take.as_bytes = true;
  return take_rows(rows, all, take);
}

}  // namespace filigree::internal
