// SPDX-License-Identifier: Apache-2.0
// What softmax means, in double precision.
#include <algorithm>
#include <cmath>

#include "kernels/softmax.h"

namespace filigree::internal {

void softmax_reference(std::size_t classes, std::size_t stride, const float* y, float* share, float* highest,
                       float* log_sum) {
  for (std::size_t b = 0; b < stride; ++b) {
    highest[b] = y[b];
    for (std::size_t c = 1; c < classes; ++c) highest[b] = std::max(highest[b], y[c * stride + b]);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(double{y[c * stride + b]} - highest[b]);
    log_sum[b] = highest[b] + std::log(sum);
    for (std::size_t c = 0; c < classes; ++c)
      share[c * stride + b] = std::exp(double{y[c * stride + b]} - highest[b]) / sum;
  }
}

}  // namespace filigree::internal
