// SPDX-License-Identifier: Apache-2.0
// Softmax over a panel of logits: each sample's shares of the classes.
#pragma once

#include <cstddef>
#include <span>

namespace filigree::internal {

// For each sample b < stride: share[c * stride + b] = exp(y[c * stride + b]) / the sum of these over the
// classes, highest[b] the largest y, log_sum[b] the logarithm of the sum of exp(y). Within about 1e-6 of the
// reference; logits of any finite size are fine, and a NaN or +infinity makes the sample's log_sum NaN.
// stride is a multiple of 32.
void softmax(std::size_t classes, std::size_t stride, const float* y, float* share, float* highest,
             float* log_sum);
void softmax_reference(std::size_t classes, std::size_t stride, const float* y, float* share, float* highest,
                       float* log_sum);

}  // namespace filigree::internal
