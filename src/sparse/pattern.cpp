// SPDX-License-Identifier: Apache-2.0
#include "sparse/pattern.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"

namespace filigree::internal {

std::size_t Pattern::bytes() const {
  return row_begin.size() * sizeof(row_begin[0]) + column.size() * sizeof(column[0]) +
         order.size() * sizeof(order[0]) + runs.size() * sizeof(Run);
}

void index_rows(Pattern& pattern) {
  const std::size_t rows = pattern.rows;
  std::uint32_t longest = 0;
  for (std::size_t r = 0; r < rows; ++r)
    longest = std::max(longest, pattern.row_begin[r + 1] - pattern.row_begin[r]);
  std::vector<std::uint32_t> place(std::size_t{longest} + 2, 0);  // counting sort by length
  for (std::size_t r = 0; r < rows; ++r) ++place[pattern.row_begin[r + 1] - pattern.row_begin[r] + 1];
  pattern.runs.clear();
  for (std::uint32_t length = 0; length <= longest; ++length) {
    if (place[length + 1] > 0) pattern.runs.push_back({length, place[length + 1]});
    place[length + 1] += place[length];
  }
  pattern.order.resize(rows);
  for (std::size_t r = 0; r < rows; ++r)
    pattern.order[place[pattern.row_begin[r + 1] - pattern.row_begin[r]]++] = r;
}

void validate(const Pattern& pattern, std::string_view what) {
  if (pattern.rows < 0 || pattern.cols < 0 || pattern.cols > kMaxPatternColumns)
    fail("{}: {} × {} connections; {} columns is the most", what, pattern.rows, pattern.cols,
         kMaxPatternColumns);
  if (pattern.row_begin.size() != static_cast<std::size_t>(pattern.rows) + 1)
    fail("{}: {} row bounds for {} rows", what, pattern.row_begin.size(), pattern.rows);
  if (pattern.row_begin.front() != 0 || pattern.row_begin.back() != pattern.column.size())
    fail("{}: rows span {} to {}, but there are {} connections", what, pattern.row_begin.front(),
         pattern.row_begin.back(), pattern.column.size());
  for (Index r = 0; r < pattern.rows; ++r) {
    const std::size_t row = r;
    if (pattern.row_begin[row] > pattern.row_begin[row + 1] ||
        pattern.row_begin[row + 1] > pattern.column.size())
      fail("{}: row {} ends before it begins", what, r);
    const auto columns = pattern.row_columns(r);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      if (columns[e] >= pattern.cols)
        fail("{}: row {} has column {}, but there are {}", what, r, columns[e], pattern.cols);
      if (e > 0 && columns[e] <= columns[e - 1])
        fail("{}: row {} has column {} after column {}", what, r, columns[e], columns[e - 1]);
    }
  }
}

Pattern transpose(const Pattern& pattern) {
  Pattern result;
  result.rows = pattern.cols;
  result.cols = pattern.rows;
  result.row_begin.assign(static_cast<std::size_t>(pattern.cols) + 1, 0);
  for (const std::uint16_t column : pattern.column) ++result.row_begin[std::size_t{column} + 1];
  std::partial_sum(result.row_begin.begin(), result.row_begin.end(), result.row_begin.begin());
  std::vector<std::uint32_t> cursor(result.row_begin.begin(), result.row_begin.end() - 1);
  result.column.resize(pattern.nnz());
  for (Index r = 0; r < pattern.rows; ++r)
    for (const std::uint16_t column : pattern.row_columns(r))
      result.column[cursor[column]++] = static_cast<std::uint16_t>(r);
  index_rows(result);
  return result;
}

void transpose_values(const Pattern& pattern, std::span<const float> value, const Pattern& transposed,
                      std::span<std::uint32_t> cursor, std::span<float> transposed_value) {
  std::copy(transposed.row_begin.begin(), transposed.row_begin.end() - 1, cursor.begin());
  for (std::size_t e = 0; e < pattern.nnz(); ++e) transposed_value[cursor[pattern.column[e]]++] = value[e];
}

CsrMatrix to_csr(const Pattern& pattern, std::span<const float> value) {
  return {pattern.rows,
          pattern.cols,
          {pattern.row_begin.begin(), pattern.row_begin.end()},
          {pattern.column.begin(), pattern.column.end()},
          {value.begin(), value.end()}};
}

Pattern to_pattern(const CsrView& matrix) {
  if (matrix.cols > kMaxPatternColumns)
    fail("a layer in training has {} inputs; {} is the most", matrix.cols, kMaxPatternColumns);
  if (matrix.nnz() > std::numeric_limits<std::uint32_t>::max())
    fail("a layer in training has {} connections; {} is the most", matrix.nnz(),
         std::numeric_limits<std::uint32_t>::max());
  Pattern pattern;
  pattern.rows = matrix.rows;
  pattern.cols = matrix.cols;
  pattern.row_begin.clear();
  for (const Offset begin : matrix.row_begin) pattern.row_begin.push_back(begin);
  for (const Index column : matrix.column) pattern.column.push_back(static_cast<std::uint16_t>(column));
  index_rows(pattern);
  return pattern;
}

}  // namespace filigree::internal
