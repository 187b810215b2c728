// SPDX-License-Identifier: Apache-2.0
#include "train/row_order.h"

#include <algorithm>
#include <system_error>

namespace filigree::internal {

RowOrder::RowOrder(const DataRows& data, std::span<const Index> rows, Random& random, const BlockSizes& sizes)
    : data_(data), window_blocks_(sizes.window) {
  if (rows.empty() || data.feature_bytes() < sizes.from) {
    rows_.assign(rows.begin(), rows.end());
    random.shuffle(std::span(rows_));
    return;
  }
  const std::uint64_t row_bytes = std::max<std::uint64_t>(1, data.feature_bytes() / data.rows);
  const std::size_t rows_a_block = std::max<std::uint64_t>(1, sizes.block / row_bytes);
  for (std::size_t begin = 0; begin < rows.size(); begin += rows_a_block) {
    const std::size_t end = std::min(rows.size(), begin + rows_a_block);
    blocks_.push_back({begin, end, rows[begin], rows[end - 1] + 1});
  }
  random.shuffle(std::span(blocks_));
  rows_.reserve(rows.size());
  for (std::size_t first = 0; first < blocks_.size(); first += window_blocks_) {
    const std::size_t start = rows_.size();
    for (std::size_t b = first; b < std::min(blocks_.size(), first + window_blocks_); ++b)
      rows_.insert(rows_.end(), rows.begin() + static_cast<std::ptrdiff_t>(blocks_[b].begin),
                   rows.begin() + static_cast<std::ptrdiff_t>(blocks_[b].end));
    random.shuffle(std::span(rows_).subspan(start));
    ends_.push_back(rows_.size());
  }
  fetch(0);
}

void RowOrder::advance(std::size_t position) {
  if (!data_.on_disk()) return;
  if (ends_.empty()) {  // its rows lie anywhere: all are let go from time to time
    constexpr std::uint64_t kKept = std::uint64_t{32} << 20;
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, data_.feature_bytes() / data_.rows);
    if ((position - forgotten_) * row_bytes < kKept && position < rows_.size()) return;
    forgotten_ = position;
    data_.forget(0, data_.rows);
    return;
  }
  if (position == 0) fetch(1);
  for (; window_ < ends_.size() && position >= ends_[window_]; ++window_) {
    forget(window_);
    fetch(window_ + 2);
  }
}

void RowOrder::fetch(std::size_t window) {
  if (!data_.on_disk() || window * window_blocks_ >= blocks_.size()) return;
  try {
    fetching_ = std::async(std::launch::async, [&data = data_, blocks = window_blocks(window)] {
      for (const Block& block : blocks) data.fetch(block.first, block.last);
    });
  } catch (const std::system_error&) {  // no thread is to be had: rows come when they are used
  }
}

void RowOrder::forget(std::size_t window) const {
  for (const Block& block : window_blocks(window)) data_.forget(block.first, block.last);
}

std::vector<RowOrder::Block> RowOrder::window_blocks(std::size_t window) const {
  const std::size_t begin = window * window_blocks_, end = std::min(blocks_.size(), begin + window_blocks_);
  return {blocks_.begin() + static_cast<std::ptrdiff_t>(begin),
          blocks_.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace filigree::internal
