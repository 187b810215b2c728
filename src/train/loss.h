// SPDX-License-Identifier: Apache-2.0
// Losses of many samples at once, and the gradients they start the backward pass with. What each loss means
// is in filigree/loss.h.
#pragma once

#include <span>
#include <vector>

#include "filigree/activation.h"
#include "filigree/options.h"

namespace filigree::internal {

struct LossSum {
  double loss = 0;  // summed over the samples
  std::int64_t correct = 0;
};

// The outputs of some samples, neuron-major with `stride` samples a neuron: logits for cross-entropy, sigmoid
// outputs for mse.
struct Outputs {
  std::span<const float> y;  // classes × stride
  std::size_t stride = 0;
  std::span<const Index> labels;  // at most `stride`
};

class LossFunction {
 public:
  LossFunction(Loss loss, double smoothing, std::size_t classes, std::size_t stride);

  // Half the sum of squares for mse. `delta` becomes the gradient of `scale` times the loss by what went into
  // the last activation, zero for samples without a label; an empty delta: the loss alone.
  LossSum operator()(const Outputs& outputs, double scale, std::span<float> delta);

 private:
  double cross_entropy(const Outputs& outputs, double scale, std::span<float> delta);
  double mean_square(const Outputs& outputs, double scale, std::span<float> delta) const;

  Loss loss_;
  double smoothing_;
  std::size_t classes_;
  std::vector<float> share_, highest_, log_sum_;
};

}  // namespace filigree::internal
