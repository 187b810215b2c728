// SPDX-License-Identifier: Apache-2.0
#include "filigree/rows.h"

#include <fmt/format.h>

#include <stdexcept>

namespace filigree {

namespace {

template <typename T>
std::size_t whole_rows(std::span<const T> values, std::size_t columns, std::size_t stride) {
  if (columns == 0 || stride < columns)
    throw std::invalid_argument(fmt::format("rows of {} columns, {} elements apart", columns, stride));
  if (values.empty()) return 0;
  // The last row may end where its columns do.
  const std::size_t left = values.size() % stride;
  if (left != 0 && left < columns)
    throw std::invalid_argument(
        fmt::format("{} values are not whole rows of {} inputs", values.size(), columns));
  return values.size() / stride + (left != 0 ? 1 : 0);
}

std::size_t checked(Index columns) {
  if (columns < 0) throw std::invalid_argument(fmt::format("{} columns", columns));
  return columns;
}

}  // namespace

Rows::Rows(std::span<const float> values, Index columns, std::size_t stride)
    : columns_(checked(columns)), stride_(stride == 0 ? columns_ : stride), floats_(values) {
  rows_ = whole_rows(values, columns_, stride_);
}

Rows::Rows(std::span<const std::uint8_t> values, Index columns, std::size_t stride)
    : columns_(checked(columns)), stride_(stride == 0 ? columns_ : stride), bytes_(values) {
  rows_ = whole_rows(values, columns_, stride_);
}

Rows::Rows(std::span<const Offset> row_begin, std::span<const Index> column, std::span<const float> value,
           Index columns)
    : columns_(checked(columns)), stride_(columns_), row_begin_(row_begin), column_(column), value_(value) {
  if (row_begin.empty() || row_begin.front() != 0 || column.size() != value.size() ||
      row_begin.back() != static_cast<Offset>(column.size()))
    throw std::invalid_argument(
        fmt::format("sparse rows: {} positions of rows, {} columns and {} values do not fit together",
                    row_begin.size(), column.size(), value.size()));
  rows_ = row_begin.size() - 1;
  for (std::size_t r = 0; r < rows_; ++r)
    if (row_begin[r + 1] < row_begin[r])
      throw std::invalid_argument(
          fmt::format("sparse rows: row {} ends at {} and begins at {}", r, row_begin[r + 1], row_begin[r]));
  for (std::size_t e = 0; e < column.size(); ++e)
    if (column[e] < 0 || column[e] >= columns)
      throw std::invalid_argument(
          fmt::format("sparse rows: column {} at position {}, but there are {}", column[e], e, columns));
}

}  // namespace filigree
