#include "infer/row_store.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <unordered_map>

#include "base/parallel.h"
#include "kernels/packed.h"

namespace filigree {

namespace {

std::uint64_t hash_floats(const float* x, std::size_t n) {
  std::uint64_t hash = n;
  for (std::size_t i = 0; i < n; ++i)
    hash = (std::rotl(hash, 23) ^ std::bit_cast<std::uint32_t>(x[i])) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

}  // namespace

void RowStore::add_from_panel(RowTag tag, const float* panel, Index lane) {
  Buffer<float> row(width_);
  for (std::size_t n = 0; n < width_; ++n)
    row[n] = panel[n * static_cast<std::size_t>(kPanelRows) + static_cast<std::size_t>(lane)];
  const std::lock_guard lock(mutex_);
  tags_.push_back(tag);
  rows_.push_back(std::move(row));
}

void RowStore::fill_panel(std::size_t first, Index count, float* panel) const {
  const float* from[kPanelRows];
  for (Index lane = 0; lane < count; ++lane) from[lane] = row(first + static_cast<std::size_t>(lane));
  for (std::size_t n = 0; n < width_; ++n) {
    float* to = panel + n * static_cast<std::size_t>(kPanelRows);
    for (Index lane = 0; lane < count; ++lane) to[lane] = from[lane][n];
    std::fill(to + count, to + kPanelRows, 0.0f);
  }
}

void RowStore::merge_equal_rows(std::vector<Index>& absorbed_by) {
  const std::size_t count = size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return tags_[i].row; });
  std::vector<std::uint64_t> hash(count);
  parallel_for(count, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) hash[i] = hash_floats(row(i), width_);
  });
  std::vector<RowTag> tags;
  std::vector<Buffer<float>> rows;
  std::unordered_multimap<std::uint64_t, std::size_t> kept;
  for (const std::size_t i : order) {
    const auto [begin, end] = kept.equal_range(hash[i]);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return std::memcmp(rows[entry.second].data(), row(i), width_ * sizeof(float)) == 0;
    });
    if (same != end) {
      tags[same->second].stands_for += tags_[i].stands_for;
      absorbed_by[static_cast<std::size_t>(tags_[i].row)] = tags[same->second].row;
      continue;
    }
    kept.emplace(hash[i], rows.size());
    tags.push_back(tags_[i]);
    rows.push_back(std::move(rows_[i]));
  }
  tags_ = std::move(tags);
  rows_ = std::move(rows);
}

}  // namespace filigree
