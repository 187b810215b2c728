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
  double loss = 0;  // summed over the samples, each with its weight
  // How good the outputs are, a number of at most 1 for each sample: classes: 1 where the largest output, the
  // first of equals, is the sample's class; labels: the share that is right; values: 1 - the squared error,
  // the mean over the outputs, so that the mean over the samples is R² where targets have variance 1.
  double score = 0;

  LossSum& operator+=(const LossSum& other) {
    loss += other.loss;
    score += other.score;
    return *this;
  }
};

// The outputs of some samples, neuron-major with `stride` samples a neuron, as output_activation() leaves
// them, and what they should be: a class each, or a target for each output.
struct Outputs {
  std::span<const float> y;  // outputs × stride
  std::size_t stride = 0;
  std::span<const Index> labels = {};   // at most `stride`
  std::span<const float> targets = {};  // as y, where there are no labels
  std::span<const float> weights = {};  // one a sample; empty: 1
  std::size_t samples = labels.size();
};

class LossFunction {
 public:
  LossFunction(Loss loss, double smoothing, std::size_t outputs, std::size_t stride);

  // `delta` becomes the gradient of `scale` times the loss by what went into the last activation, zero from
  // the last sample on; an empty delta: the loss alone.
  LossSum operator()(const Outputs& outputs, double scale, std::span<float> delta);

 private:
  double score_of_classes(const Outputs& outputs) const;
  double cross_entropy(const Outputs& outputs, double scale, std::span<float> delta);
  double mean_square(const Outputs& outputs, double scale, std::span<float> delta) const;
  LossSum of_labels(const Outputs& outputs, double scale, std::span<float> delta);
  LossSum of_values(const Outputs& outputs, double scale, std::span<float> delta) const;

  Loss loss_;
  double smoothing_;
  std::size_t classes_;
  std::vector<float> share_, highest_, log_sum_;
};

}  // namespace filigree::internal
