// SPDX-License-Identifier: Apache-2.0
// One row through one layer: the body of the best SIMD target.
#include "kernels/row_pass.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/row_pass.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/row_pass-inl.h"

#if HWY_ONCE
#include <algorithm>

namespace filigree::internal {

HWY_EXPORT(RowPass);

std::size_t RowMatrix::bytes() const {
  return begin.size() * sizeof(std::uint32_t) + output.size() * sizeof(std::uint16_t) +
         value.size() * sizeof(float);
}

RowMatrix row_matrix(const CsrMatrix& matrix) {
  const CsrMatrix by_input = transpose(matrix.view());
  const CsrView view = by_input.view();
  RowMatrix w;
  w.rows = matrix.rows;
  w.cols = matrix.cols;
  const std::size_t outputs = w.rows;
  std::size_t filled = 0;
  bool full = outputs > 0;
  for (Index i = 0; i < w.cols; ++i) {
    const std::size_t own = view.row_columns(i).size();
    filled += own > 0 ? 1 : 0;
    full = full && (own == 0 || own == outputs);
  }
  if (full) {
    w.stride = w.padded_rows();
    w.value = Buffer<float>(filled * w.stride);
    w.value.zero();
    std::size_t at = 0;
    for (Index i = 0; i < w.cols; ++i) {
      const auto values = view.row_values(i);
      w.begin.push_back(values.empty() ? RowMatrix::kNone : static_cast<std::uint32_t>(at));
      if (values.empty()) continue;
      std::ranges::copy(values, w.value.data() + at);
      at += w.stride;
    }
    return w;
  }
  w.begin.assign(by_input.row_begin.begin(), by_input.row_begin.end());
  w.value = Buffer<float>(by_input.value.size());
  w.output = Buffer<std::uint16_t>(by_input.column.size());
  std::ranges::copy(by_input.value, w.value.data());
  std::ranges::transform(by_input.column, w.output.data(),
                         [](Index c) { return static_cast<std::uint16_t>(c); });
  return w;
}

void row_pass(const RowMatrix& w, const Epilogue& epilogue, const float* x, float* y, std::uint32_t* active,
              bool skip) {
  HWY_DYNAMIC_DISPATCH(RowPass)(w, epilogue, x, y, active, skip);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
