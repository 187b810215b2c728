// SPDX-License-Identifier: Apache-2.0
// What the steps of gradient descent mean, one weight at a time. In single precision: the kernels give the
// same bits.
#include <cmath>

#include "kernels/descent.h"

namespace filigree::internal {

void add_to_reference(std::span<float> sum, std::span<const float> other) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
}

double sum_of_squares_reference(std::span<const float> values) {
  double sum = 0;
  for (const float v : values) sum += double{v} * v;
  return sum;
}

void descend_reference(const DescentRates& r, const Descent& at) {
  for (std::size_t i = 0; i < at.value.size(); ++i) {
    float& w = at.value[i];
    const float alone = r.scale * at.gradient[i], decayed = alone + r.decay * w;
    switch (r.optimizer) {
      case Optimizer::sgd:
        w -= r.lr * decayed;
        break;
      case Optimizer::nesterov: {
        float& m = at.first[i];
        m = r.momentum * m + decayed;
        w -= r.lr * (decayed + r.momentum * m);
        break;
      }
      case Optimizer::adam:
      case Optimizer::adamw: {
        const bool decoupled = decouples_decay(r.optimizer);
        const float gradient = decoupled ? alone : decayed;
        float &m = at.first[i], &v = at.second[i];
        m = r.beta1 * m + (1 - r.beta1) * gradient;
        v = r.beta2 * v + (1 - r.beta2) * (gradient * gradient);
        if (decoupled) w -= r.lr * r.decay * w;
        w -= r.lr * (m * r.correct1) / (std::sqrt(v * r.correct2) + r.epsilon);
        break;
      }
      case Optimizer::lion: {  // Chen et al. 2023: the sign of a mean that leans towards the newest gradient
        float& m = at.first[i];
        const float mean = r.beta1 * m + (1 - r.beta1) * alone;
        m = r.beta2 * m + (1 - r.beta2) * alone;
        const float sign = mean > 0 ? 1.0f : mean < 0 ? -1.0f : 0.0f;
        w -= r.lr * (sign + r.decay * w);
        break;
      }
    }
  }
}

}  // namespace filigree::internal
