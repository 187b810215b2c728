// SPDX-License-Identifier: Apache-2.0
// What the steps of gradient descent mean, one weight at a time. In single precision: the kernels give the
// same bits.
#include <cmath>

#include "kernels/descent.h"

namespace filigree {

void add_to_reference(std::span<float> sum, std::span<const float> other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

double sum_of_squares_reference(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * v;
  return sum;
}

void descend_reference(Optimizer optimizer, const DescentRates& r, const Descent& at) {
  for (std::size_t i = 0; i < at.value.size(); ++i) {
    float& w = at.value[i];
    const bool decoupled = optimizer == Optimizer::adamw;
    const float gradient = decoupled ? r.scale * at.gradient[i] : r.scale * at.gradient[i] + r.decay * w;
    switch (optimizer) {
      case Optimizer::sgd:
        w -= r.lr * gradient;
        break;
      case Optimizer::nesterov: {
        float& m = at.first[i];
        m = r.momentum * m + gradient;
        w -= r.lr * (gradient + r.momentum * m);
        break;
      }
      case Optimizer::adam:
      case Optimizer::adamw: {
        float &m = at.first[i], &v = at.second[i];
        m = r.beta1 * m + (1 - r.beta1) * gradient;
        v = r.beta2 * v + (1 - r.beta2) * (gradient * gradient);
        if (decoupled) w -= r.lr * r.decay * w;
        w -= r.lr * (m * r.correct1) / (std::sqrt(v * r.correct2) + r.epsilon);
        break;
      }
    }
  }
}

}  // namespace filigree
