// SPDX-License-Identifier: Apache-2.0
// Sparse inputs to a network: one row per input, 16-bit columns because they are read once and from memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

inline constexpr Index kMaxInputColumns = 65536;

struct InputRows {
  Index rows = 0;
  Index cols = 0;                       // at most kMaxInputColumns
  std::vector<Offset> row_begin = {0};  // rows + 1
  Buffer<std::uint16_t> column;         // strictly increasing within a row; may be longer than nnz()
  Buffer<float> value;                  // empty: every entry is 1

  Offset nnz() const { return row_begin.back(); }
  bool binary() const { return value.empty(); }
  std::span<const std::uint16_t> row_columns(Index r) const {
    const std::size_t first = row_begin[r];
    const std::size_t last = row_begin[r + 1];
    return {column.data() + first, last - first};
  }
};

bool nonnegative(const InputRows& inputs);  // every value

}  // namespace filigree::internal
