// SPDX-License-Identifier: Apache-2.0
// Rows of numbers in somebody else's memory: what a plan reads and where it writes. Plain views; modules
// below the API may include this, as they may vocabulary.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

// Elements from one row to the next, and from one column to the next.
struct Strides {
  std::size_t row, column;
};

// Rows of inputs: floats of 32 or 64 bits, bytes, or sparse (CSR) floats. The arrays must outlive the view.
class Rows {
 public:
  // Row-major, `stride` elements from one row to the next; 0: `columns`. Throws std::invalid_argument if the
  // values are not whole rows.
  Rows(std::span<const float> values, Index columns, std::size_t stride = 0);
  Rows(std::span<const std::uint8_t> values, Index columns, std::size_t stride = 0);
  Rows(std::span<const double> values, Index columns, std::size_t stride = 0);
  // In any layout: column by column, or every other element. Doubles and columns with gaps are copied to be
  // read. Throws std::invalid_argument if an element lies beyond the values.
  Rows(std::span<const float> values, std::size_t rows, Index columns, Strides strides);
  Rows(std::span<const std::uint8_t> values, std::size_t rows, Index columns, Strides strides);
  Rows(std::span<const double> values, std::size_t rows, Index columns, Strides strides);
  // CSR: row_begin has one more element than there are rows; columns that a row does not have are zero,
  // what it has several times is added up. Throws std::invalid_argument if the arrays do not fit together or
  // a column is not below `columns`.
  Rows(std::span<const Offset> row_begin, std::span<const Index> column, std::span<const float> value,
       Index columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  std::size_t stride() const { return stride_; }
  std::size_t column_stride() const { return column_stride_; }
  bool sparse() const { return !row_begin_.empty(); }
  std::span<const float> floats() const { return floats_; }       // dense floats; empty of others
  std::span<const double> doubles() const { return doubles_; }    // dense doubles; the same
  std::span<const std::uint8_t> bytes() const { return bytes_; }  // bytes; the same
  std::span<const Offset> row_begin() const { return row_begin_; }
  std::span<const Index> column() const { return column_; }
  std::span<const float> value() const { return value_; }

 private:
  std::size_t rows_ = 0, columns_ = 0, stride_ = 0, column_stride_ = 1;
  std::span<const float> floats_ = {};
  std::span<const double> doubles_ = {};
  std::span<const std::uint8_t> bytes_ = {};
  std::span<const Offset> row_begin_ = {};
  std::span<const Index> column_ = {};
  std::span<const float> value_ = {};
};

// Where rows of outputs go: row-major, `stride` floats from one row to the next; 0: as many as a row has.
struct OutputRows {
  std::span<float> values;
  std::size_t stride = 0;

  OutputRows(std::span<float> to, std::size_t row_stride = 0) : values(to), stride(row_stride) {}
  OutputRows(std::vector<float>& to) : values(to) {}
  float* row(std::size_t r, std::size_t width) const {
    return values.data() + r * (stride == 0 ? width : stride);
  }
};

}  // namespace filigree
#pragma GCC visibility pop
