// SPDX-License-Identifier: Apache-2.0
// What the products of training mean, in double precision.
#include "kernels/panel_pass.h"

namespace filigree::internal {

namespace {

// Calls visit(row, column, entry) for every connection.
template <typename Visit>
void for_each_connection(const Pattern& w, const Visit& visit) {
  for (Index r = 0; r < w.rows; ++r)
    for (std::size_t e = w.row_begin[r]; e < w.row_begin[r + 1]; ++e) visit(r, w.column[e], e);
}

}  // namespace

void multiply_panel_reference(const Pattern& w, std::span<const float> value, std::span<const float> bias,
                              const PanelEpilogue& epilogue, const float* x, float* y,
                              std::size_t panel_rows) {
  for (std::size_t b = 0; b < panel_rows; ++b) {
    std::vector<double> sum(w.rows, 0.0);
    if (!bias.empty()) sum.assign(bias.begin(), bias.end());
    for_each_connection(w, [&](std::size_t r, std::size_t c, std::size_t e) {
      sum[r] += double{value[e]} * x[c * panel_rows + b];
    });
    for (std::size_t r = 0; r < sum.size(); ++r) {
      const std::size_t at = r * panel_rows + b;
      const bool off =
          (epilogue.relu && sum[r] < 0) || (epilogue.gate != nullptr && !(epilogue.gate[at] > 0));
      y[at] = off ? 0 : sum[r];
    }
  }
}

void gradient_panel_reference(const Pattern& w, const float* y, const float* x, std::span<float> gradient,
                              std::size_t panel_rows) {
  for_each_connection(w, [&](std::size_t r, std::size_t c, std::size_t e) {
    double sum = gradient[e];
    for (std::size_t b = 0; b < panel_rows; ++b) sum += double{y[r * panel_rows + b]} * x[c * panel_rows + b];
    gradient[e] = sum;
  });
}

void add_row_sums_reference(const float* y, std::size_t rows, std::span<float> sum, std::size_t panel_rows) {
  for (std::size_t r = 0; r < rows; ++r) {
    double total = sum[r];
    for (std::size_t b = 0; b < panel_rows; ++b) total += y[r * panel_rows + b];
    sum[r] = total;
  }
}

}  // namespace filigree::internal
