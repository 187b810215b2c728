// SPDX-License-Identifier: Apache-2.0
// Steps of gradient descent on plain arrays: adding gradients up, moving weights.
#pragma once

#include <cstddef>
#include <span>

#include "filigree/optimizer.h"

namespace filigree::internal {

// sum[i] += other[i]; of one size.
void add_to(std::span<float> sum, std::span<const float> other);
void add_to_reference(std::span<float> sum, std::span<const float> other);

// In double precision.
double sum_of_squares(std::span<const float> values);
double sum_of_squares_reference(std::span<const float> values);

// An optimizer with all its rates.
struct DescentRates {
  Optimizer optimizer = Optimizer::sgd;
  float lr = 0, decay = 0;
  float scale = 1;  // of the gradients, before anything else
  float momentum = 0;
  float beta1 = 0, beta2 = 0, epsilon = 0;  // Adam; the betas: Lion
  float correct1 = 1, correct2 = 1;         // Adam: 1 / (1 - beta^step)
};

// Weights with their gradients and the first and second moment, as far as the optimizer has them; the others
// are empty.
struct Descent {
  std::span<float> value;
  std::span<const float> gradient;
  std::span<float> first, second;
};

// One step. Exactly the bits of the reference, on every SIMD target.
void descend(const DescentRates& rates, const Descent& at);
void descend_reference(const DescentRates& rates, const Descent& at);

}  // namespace filigree::internal
