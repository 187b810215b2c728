// SPDX-License-Identifier: Apache-2.0
// Compressed sparse columns: who reads an input neuron, for kernels that gather along columns.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "sparse/csr.h"

namespace filigree {

// A borrowed CSC matrix. Whoever owns the arrays outlives the view.
struct CscView {
  Index rows = 0, cols = 0;
  std::span<const Offset> column_begin;  // cols + 1, from 0 to the number of entries
  std::span<const Index> row;            // strictly increasing within a column
  std::span<const float> value;

  Offset nnz() const { return row.size(); }
};

struct CscMatrix {
  Index rows = 0, cols = 0;
  std::vector<Offset> column_begin = {0};
  std::vector<Index> row;
  std::vector<float> value;

  Offset nnz() const { return row.size(); }
  CscView view() const { return {rows, cols, column_begin, row, value}; }
  bool operator==(const CscMatrix&) const = default;
};

// Throws Error naming the first place that breaks the format; values may be anything.
void validate(const CscView& matrix, std::string_view what = "CSC matrix");

// Both in time linear in rows + columns + entries, explicit zeros included.
CscMatrix to_csc(const CsrView& matrix);
CsrMatrix to_csr(const CscView& matrix);

}  // namespace filigree
