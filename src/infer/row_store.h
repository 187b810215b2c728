// Dense rows between two segments of a network: written by many threads, then merged and read again.
#pragma once

#include <mutex>
#include <vector>

#include "base/buffer.h"
#include "filigree/vocabulary.h"

namespace filigree {

// A row on its way through the network: which input it is, and for how many equal ones it stands.
struct RowTag {
  Index row = 0;
  Index stands_for = 1;
};

class RowStore {
 public:
  RowStore(Index width, std::size_t capacity) : width_(static_cast<std::size_t>(width)), capacity_(capacity) {}

  std::size_t size() const { return tags_.size(); }
  std::size_t capacity() const { return capacity_; }
  const RowTag& tag(std::size_t i) const { return tags_[i]; }
  const float* row(std::size_t i) const { return rows_[i].data(); }

  // Copies row `lane` out of a neuron-major panel. Thread-safe.
  void add_from_panel(RowTag tag, const float* panel, Index lane);

  // Writes rows [first, first + count) into a panel, lanes 0 … count-1; the other lanes become zero.
  void fill_panel(std::size_t first, Index count, float* panel) const;

  // Leaves one of each set of equal rows, found by hash and by comparison. For each row that is absorbed,
  // absorbed_by[row] becomes the row that now stands for it. The order of what remains is that of the rows'
  // numbers, whatever the threads did.
  void merge_equal_rows(std::vector<Index>& absorbed_by);

 private:
  std::size_t width_;
  std::size_t capacity_;
  std::mutex mutex_;
  std::vector<RowTag> tags_;
  std::vector<Buffer<float>> rows_;
};

}  // namespace filigree
