// SPDX-License-Identifier: Apache-2.0
// Compressed sparse rows: the format weights are kept in, one row per output neuron.
#pragma once

#include <span>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree {

// A borrowed CSR matrix. Whoever owns the arrays outlives the view.
struct CsrView {
  Index rows = 0, cols = 0;
  std::span<const Offset> row_begin;  // rows + 1, from 0 to the number of entries
  std::span<const Index> column;      // strictly increasing within a row
  std::span<const float> value;

  Offset nnz() const { return row_begin.empty() ? 0 : row_begin[rows]; }
  std::span<const Index> row_columns(Index r) const { return column.subspan(first(r), length(r)); }
  std::span<const float> row_values(Index r) const { return value.subspan(first(r), length(r)); }

 private:
  std::size_t first(Index r) const { return row_begin[r]; }
  std::size_t length(Index r) const { return row_begin[static_cast<std::size_t>(r) + 1] - first(r); }
};

struct CsrMatrix {
  Index rows = 0, cols = 0;
  std::vector<Offset> row_begin = {0};
  std::vector<Index> column;
  std::vector<float> value;

  Offset nnz() const { return column.size(); }
  CsrView view() const { return {rows, cols, row_begin, column, value}; }
  bool operator==(const CsrMatrix&) const = default;
};

// Throws Error naming the first place that breaks the format; `what` names the matrix in the message.
// Values may be anything, NaN and infinities included: a reader that forbids them says so itself.
void validate(const CsrView& matrix, std::string_view what = "CSR matrix");

// A matrix with every entry there is: `value` is rows × cols, row-major.
CsrMatrix full_matrix(Index rows, Index cols, std::vector<float> value);
bool is_full(const CsrView& matrix);  // and not empty

// Rows become columns, in time linear in rows + columns + entries. Keeps explicit zeros.
CsrMatrix transpose(const CsrView& matrix);

}  // namespace filigree
