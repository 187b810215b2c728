// SPDX-License-Identifier: Apache-2.0
#include "infer/panel_store.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "base/parallel.h"
#include "kernels/spmm.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

struct Place {
  std::size_t panel = 0;
  std::size_t lane = 0;
};

// Hashes of all rows of a panel at once; the loop over lanes is a vector.
void hash_rows(const RowPanel& panel, std::size_t neurons, std::uint32_t* hash) {
  std::fill_n(hash, kLanes, 0x9e3779b9u);
  const float* x = panel.values.data();
  for (std::size_t n = 0; n < neurons; ++n, x += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      hash[lane] = (std::rotl(hash[lane], 11) ^ std::bit_cast<std::uint32_t>(x[lane])) * 0x85ebca6bu;
}

bool same_row(const RowPanel& a, std::size_t lane_a, const RowPanel& b, std::size_t lane_b,
              std::size_t neurons) {
  for (std::size_t n = 0; n < neurons; ++n)
    if (a.values[n * kLanes + lane_a] != b.values[n * kLanes + lane_b]) return false;
  return true;
}

}  // namespace

void RowPanel::append(const RowPanel& from, std::uint32_t rows, Index neurons) {
  append_panel_rows(from.values.data(), neurons, rows, values.data(), count);
  for (std::uint32_t left = rows; left != 0; left &= left - 1)
    tags[count++] = from.tags[std::countr_zero(left)];
}

void PanelStore::add(RowPanel panel) {
  const std::lock_guard lock(mutex_);
  rows_ += static_cast<std::size_t>(panel.count);
  panels_.push_back(std::move(panel));
}

void PanelStore::merge_equal_rows(std::vector<Index>& absorbed_by) {
  const std::size_t neurons = neurons_;
  std::vector<std::uint32_t> hash(panels_.size() * kLanes);
  parallel_for(panels_.size(), 4, [&](std::size_t first, std::size_t last) {
    for (std::size_t p = first; p < last; ++p) hash_rows(panels_[p], neurons, &hash[p * kLanes]);
  });
  std::vector<Place> places;
  places.reserve(rows_);
  for (std::size_t p = 0; p < panels_.size(); ++p)
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(panels_[p].count); ++lane)
      places.push_back({p, lane});
  const auto tag = [&](const Place& place) -> RowTag& { return panels_[place.panel].tags[place.lane]; };
  std::ranges::sort(places, {}, [&](const Place& place) { return tag(place).row; });

  std::unordered_multimap<std::uint32_t, Place> kept;
  kept.reserve(places.size());
  std::vector<std::uint32_t> keep(panels_.size(), 0);
  for (const Place& place : places) {
    const std::uint32_t key = hash[place.panel * kLanes + place.lane];
    const auto [begin, end] = kept.equal_range(key);
    const auto same = std::find_if(begin, end, [&](const auto& other) {
      return same_row(panels_[place.panel], place.lane, panels_[other.second.panel], other.second.lane,
                      neurons);
    });
    if (same != end) {
      tag(same->second).stands_for += tag(place).stands_for;
      absorbed_by[tag(place).row] = tag(same->second).row;
    } else {
      kept.emplace(key, place);
      keep[place.panel] |= std::uint32_t{1} << place.lane;
    }
  }
  if (kept.size() == places.size()) return;

  std::vector<RowPanel> merged;
  for (std::size_t p = 0; p < panels_.size(); ++p) {
    for (std::uint32_t rows = keep[p]; rows != 0;) {
      if (merged.empty() || merged.back().full())
        merged.emplace_back().values = Buffer<float>(panels_[p].values.size());
      std::uint32_t fitting = 0;
      for (int room = kPanelRows - merged.back().count; room > 0 && rows != 0; --room, rows &= rows - 1)
        fitting |= rows & -rows;
      merged.back().append(panels_[p], fitting, neurons_);
    }
  }
  panels_ = std::move(merged);
  rows_ = kept.size();
}

}  // namespace filigree::internal
