// SPDX-License-Identifier: Apache-2.0
// The order in which an epoch takes its rows.
#pragma once

#include <cstdint>
#include <future>
#include <span>
#include <vector>

#include "base/random.h"
#include "data/dataset.h"

namespace filigree::internal {

// Which sets are shuffled in blocks, and how: it depends on the rows alone, not on where they lie, so that a
// run gives the same bits with any memory limit.
struct BlockSizes {
  std::uint64_t from = std::uint64_t{256} << 20;   // bytes of features; smaller sets are shuffled as a whole
  std::uint64_t block = std::uint64_t{512} << 10;  // bytes that are read together
  std::size_t window = 64;                         // blocks whose rows are mixed
};

// Rows drawn at random. Those of a large set would each be a disk access of its own: there, blocks of
// neighbouring rows come in random order, and 64 blocks at a time are mixed row by row. Rows on disk are
// asked for a window ahead and let go a window behind.
class RowOrder {
 public:
  // `rows`, ascending, are rows of `data`, which outlives this.
  RowOrder(const DataRows& data, std::span<const Index> rows, Random& random, const BlockSizes& sizes = {});

  const std::vector<Index>& rows() const { return rows_; }
  // All rows before this position have been taken.
  void advance(std::size_t position);

 private:
  struct Block {
    std::size_t begin, end;  // positions among the given rows
    Index first, last;       // rows [first, last)
  };
  void fetch(std::size_t window);
  void forget(std::size_t window) const;
  std::vector<Block> window_blocks(std::size_t window) const;

  const DataRows& data_;
  std::vector<Index> rows_;
  std::vector<Block> blocks_;      // in their order; empty: the set is shuffled as a whole
  std::vector<std::size_t> ends_;  // positions where windows end
  std::size_t window_blocks_, window_ = 0, forgotten_ = 0;
  std::future<void> fetching_;  // the kernel makes its caller wait, where memory is short
};

}  // namespace filigree::internal
