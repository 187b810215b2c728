// SPDX-License-Identifier: Apache-2.0
// Which connections a layer in training has, without their values: CSR with 16-bit columns, because a
// connection that is trained costs memory for its position as well as for its weight, gradient and momentum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/sparse.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

inline constexpr Index kMaxPatternColumns = 65536;

struct Pattern {
  // Rows with the same number of entries, which kernels take four at a time.
  struct Run {
    std::uint32_t length = 0, rows = 0;
    bool operator==(const Run&) const = default;
  };

  Index rows = 0, cols = 0;                    // cols is at most kMaxPatternColumns
  std::vector<std::uint32_t> row_begin = {0};  // rows + 1
  std::vector<std::uint16_t> column;           // strictly increasing within a row
  std::vector<std::uint32_t> order;            // the rows, by length and then by number
  std::vector<Run> runs;                       // of `order`

  std::size_t nnz() const { return column.size(); }
  std::span<const std::uint16_t> row_columns(Index r) const {
    const auto first = row_begin[r];
    return {column.data() + first, row_begin[r + 1] - first};
  }
  std::size_t bytes() const;
  bool operator==(const Pattern&) const = default;
};

// Fills `order` and `runs` from the rest.
void index_rows(Pattern& pattern);

// Throws Error naming the first position that breaks the format.
void validate(const Pattern& pattern, std::string_view what);

// Rows become columns. The values of the transposed connections are refreshed by transpose_values, which
// walks both in step: a stored permutation would double what a connection's position costs.
Pattern transpose(const Pattern& pattern);
void transpose_values(const Pattern& pattern, std::span<const float> value, const Pattern& transposed,
                      std::span<std::uint32_t> cursor, std::span<float> transposed_value);

CsrMatrix to_csr(const Pattern& pattern, std::span<const float> value);
Pattern to_pattern(const CsrView& matrix);

}  // namespace filigree::internal
