// SPDX-License-Identifier: Apache-2.0
// Rows on their way between two segments of a network, kept in the panels they will travel on in.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "filigree/vocabulary.h"
#include "kernels/packed.h"

namespace filigree::internal {

// A row on its way through the network: which input it is, and for how many equal ones it stands.
struct RowTag {
  Index row = 0;
  Index stands_for = 1;
};

// Up to kPanelRows rows, neuron-major; rows beyond `count` hold anything.
struct RowPanel {
  Buffer<float> values;
  RowTag tags[kPanelRows];
  int count = 0;

  bool full() const { return count == kPanelRows; }
  // Appends the rows of `from` that `rows` marks (bit r: row r). There is room for them.
  void append(const RowPanel& from, std::uint32_t rows, Index neurons);
};

class PanelStore {
 public:
  explicit PanelStore(Index neurons) : neurons_(neurons) {}

  void add(RowPanel panel);  // thread-safe
  std::size_t rows() const { return rows_; }

  std::vector<RowPanel> take() { return std::move(panels_); }

  // Leaves one of each set of equal rows, found by hash and by comparison. For each row that is absorbed,
  // absorbed_by[row] becomes the row that now stands for it: always the one with the smallest number.
  void merge_equal_rows(std::vector<Index>& absorbed_by);

 private:
  Index neurons_;
  std::mutex mutex_;
  std::vector<RowPanel> panels_;
  std::atomic<std::size_t> rows_{0};
};

}  // namespace filigree::internal
