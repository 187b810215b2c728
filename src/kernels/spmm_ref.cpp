// The meaning of SpMM.
#include "kernels/spmm.h"

namespace filigree {

void spmm_reference(const CsrView& w, std::span<const float> x, Index batch, std::span<double> y) {
  const auto width = static_cast<std::size_t>(batch);
  for (Index r = 0; r < w.rows; ++r) {
    const auto columns = w.row_columns(r);
    const auto values = w.row_values(r);
    for (std::size_t b = 0; b < width; ++b) {
      double sum = 0;  // double: truth must be nearer than any float order
      for (std::size_t e = 0; e < columns.size(); ++e)
        sum += static_cast<double>(values[e]) * static_cast<double>(x[static_cast<std::size_t>(columns[e]) * width + b]);
      y[static_cast<std::size_t>(r) * width + b] = sum;
    }
  }
}

}  // namespace filigree
