// SPDX-License-Identifier: Apache-2.0
// The meaning of the losses, and the facts that follow from it.
#include <algorithm>
#include <cmath>

#include "filigree/loss.h"

namespace filigree {

namespace {

double target_of(std::size_t output, std::size_t label, std::size_t outputs, double smoothing) {
  return smoothing / static_cast<double>(outputs) + (output == label ? 1 - smoothing : 0);
}

// By the largest output, so that nothing overflows.
double log_of_sum(std::span<const float> outputs) {
  const double largest = std::ranges::max(outputs);
  double sum = 0;
  for (const float o : outputs) sum += std::exp(o - largest);
  return std::log(sum) + largest;
}

}  // namespace

ActivationFunction output_activation(Loss loss) {
  switch (loss) {
    case Loss::cross_entropy:
      return Activation::identity;
    case Loss::mse:
      return Activation::sigmoid;
  }
  return Activation::identity;
}

OutputLink output_link(Loss loss) {
  switch (loss) {
    case Loss::cross_entropy:
      return OutputLink::softmax;
    case Loss::mse:
      return OutputLink::identity;
  }
  return OutputLink::identity;
}

double row_loss(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing) {
  double sum = 0;
  switch (loss) {
    case Loss::cross_entropy: {
      const double all = log_of_sum(outputs);
      if (smoothing == 0) return all - outputs[label];
      for (std::size_t o = 0; o < outputs.size(); ++o)
        sum += target_of(o, label, outputs.size(), smoothing) * (all - outputs[o]);
      return sum;
    }
    case Loss::mse:
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const double error = outputs[o] - target_of(o, label, outputs.size(), smoothing);
        sum += error * error;
      }
      return sum / 2;
  }
  return sum;
}

void row_gradient(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing,
                  std::span<double> gradient) {
  switch (loss) {
    case Loss::cross_entropy: {
      const double all = log_of_sum(outputs);
      for (std::size_t o = 0; o < outputs.size(); ++o)
        gradient[o] = std::exp(outputs[o] - all) - target_of(o, label, outputs.size(), smoothing);
      break;
    }
    case Loss::mse:
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const double out = outputs[o];
        gradient[o] = (out - target_of(o, label, outputs.size(), smoothing)) * out * (1 - out);
      }
      break;
  }
}

}  // namespace filigree
