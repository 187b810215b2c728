// SPDX-License-Identifier: Apache-2.0
// For tests: input rows with a value in every column.
#pragma once

#include <vector>

#include "sparse/input_rows.h"

namespace filigree::internal {

// Rows of `cols` values each, one after another.
inline InputRows full_rows(Index cols, const std::vector<float>& values) {
  const std::size_t width = cols;
  InputRows inputs;
  inputs.rows = values.size() / width;
  inputs.cols = cols;
  inputs.column = Buffer<std::uint16_t>(values.size());
  inputs.value = Buffer<float>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    inputs.column[i] = static_cast<std::uint16_t>(i % width);
    inputs.value[i] = values[i];
  }
  for (Index r = 1; r <= inputs.rows; ++r) inputs.row_begin.push_back(static_cast<Offset>(r) * cols);
  return inputs;
}

}  // namespace filigree::internal
