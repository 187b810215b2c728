// SPDX-License-Identifier: Apache-2.0
#include "base/rows.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"

namespace filigree {

using namespace internal;

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

// Every element lies within `size` of them.
void check_strides(std::size_t size, std::size_t rows, std::size_t columns, Strides strides) {
  if (rows == 0 || columns == 0) return;
  const auto fits = [](std::size_t count, std::size_t stride, std::size_t room) {
    return count == 1 || stride <= room / (count - 1);
  };
  const std::size_t room = size - 1;
  if (size == 0 || !fits(rows, strides.row, room) || !fits(columns, strides.column, room) ||
      (columns - 1) * strides.column > room - (rows - 1) * strides.row)
    throw std::invalid_argument(
        fmt::format("{} values, but {} rows of {} columns, {} and {} elements apart, need more", size, rows,
                    columns, strides.row, strides.column));
}

// Doubles that are finite fit a float, or the error names them.
float narrow(double value, std::size_t row, std::size_t column) {
  const auto narrowed = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(narrowed))
    fail("value {} of row {} is {}, which does not fit a float", column, row, value);
  return narrowed;
}
float narrow(float value, std::size_t /*row*/, std::size_t /*column*/) {
  return value;
}
std::uint8_t narrow(std::uint8_t value, std::size_t /*row*/, std::size_t /*column*/) {
  return value;
}

template <typename To, typename From>
Buffer<To> packed(std::span<const From> values, const Rows& rows) {
  const std::size_t width = rows.columns();
  Buffer<To> buffer(rows.rows() * width);
  for (std::size_t r = 0; r < rows.rows(); ++r)
    for (std::size_t c = 0; c < width; ++c)
      buffer[r * width + c] = narrow(values[r * rows.stride() + c * rows.column_stride()], r, c);
  return buffer;
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

Rows::Rows(std::span<const double> values, Index columns, std::size_t stride)
    : columns_(checked(columns)), stride_(stride == 0 ? columns_ : stride), doubles_(values) {
  rows_ = whole_rows(values, columns_, stride_);
}

Rows::Rows(std::span<const float> values, std::size_t rows, Index columns, Strides strides)
    : rows_(rows),
      columns_(checked(columns)),
      stride_(strides.row),
      column_stride_(strides.column),
      floats_(values) {
  check_strides(values.size(), rows_, columns_, strides);
}

Rows::Rows(std::span<const std::uint8_t> values, std::size_t rows, Index columns, Strides strides)
    : rows_(rows),
      columns_(checked(columns)),
      stride_(strides.row),
      column_stride_(strides.column),
      bytes_(values) {
  check_strides(values.size(), rows_, columns_, strides);
}

Rows::Rows(std::span<const double> values, std::size_t rows, Index columns, Strides strides)
    : rows_(rows),
      columns_(checked(columns)),
      stride_(strides.row),
      column_stride_(strides.column),
      doubles_(values) {
  check_strides(values.size(), rows_, columns_, strides);
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

internal::PlainRows::PlainRows(const Rows& rows) : rows_(rows) {
  const bool gaps = rows.column_stride() != 1 && rows.columns() > 1;
  if (!rows.doubles().empty()) {
    floats_ = packed<float>(rows.doubles(), rows);
  } else if (gaps && !rows.floats().empty()) {
    floats_ = packed<float>(rows.floats(), rows);
  } else if (gaps && !rows.bytes().empty()) {
    bytes_ = packed<std::uint8_t>(rows.bytes(), rows);
  }
  const auto columns = static_cast<Index>(rows.columns());
  if (!floats_.empty()) rows_ = Rows(std::span<const float>(floats_), columns);
  if (!bytes_.empty()) rows_ = Rows(std::span<const std::uint8_t>(bytes_), columns);
}

}  // namespace filigree
