// SPDX-License-Identifier: Apache-2.0
// The meaning of the losses, and the facts that follow from it.
#include <algorithm>
#include <cmath>
#include <vector>

#include "filigree/loss.h"

namespace filigree {

namespace {

// By the largest output, so that nothing overflows.
double log_of_sum(std::span<const float> outputs) {
  const double largest = std::ranges::max(outputs);
  double sum = 0;
  for (const float o : outputs) sum += std::exp(o - largest);
  return std::log(sum) + largest;
}

// Of a logit, without overflow on either side.
double softplus(double z) {
  return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

struct Term {
  double loss = 0, gradient = 0;
};

// One output's part of a loss that is a sum over the outputs; `log_sum` is for cross-entropy.
Term term_of(Loss loss, double output, double target, double log_sum) {
  const double error = output - target;
  switch (loss) {
    case Loss::cross_entropy:
      return {target * (log_sum - output), std::exp(output - log_sum) - target};
    case Loss::mse:
      return {error * error / 2, error * output * (1 - output)};
    case Loss::binary_cross_entropy:
      return {softplus(output) - target * output, 1 / (1 + std::exp(-output)) - target};
    case Loss::squared:
      return {error * error / 2, error};
    case Loss::absolute:
      return {std::abs(error), error > 0 ? 1.0 : error < 0 ? -1.0 : 0.0};
    case Loss::huber: {
      const double size = std::abs(error);
      return {size <= 1 ? error * error / 2 : size - 0.5, std::clamp(error, -1.0, 1.0)};
    }
  }
  return {};
}

// What the terms are multiplied by: the losses of values are means over the outputs.
double share_of(Loss loss, std::size_t outputs) {
  return fits(loss, Task::values) ? 1 / static_cast<double>(outputs) : 1;
}

std::vector<float> target_of(std::size_t label, std::size_t outputs, double smoothing) {
  // One output tells two classes apart.
  if (outputs == 1) return {static_cast<float>(smoothing / 2 + (label == 1 ? 1 - smoothing : 0))};
  std::vector<float> target(outputs, static_cast<float>(smoothing / static_cast<double>(outputs)));
  target[label] = static_cast<float>(smoothing / static_cast<double>(outputs) + 1 - smoothing);
  return target;
}

}  // namespace

ActivationFunction output_activation(Loss loss) {
  switch (loss) {
    case Loss::mse:
      return Activation::sigmoid;
    case Loss::cross_entropy:
    case Loss::binary_cross_entropy:
    case Loss::squared:
    case Loss::absolute:
    case Loss::huber:
      return Activation::identity;
  }
  return Activation::identity;
}

OutputLink output_link(Loss loss) {
  switch (loss) {
    case Loss::cross_entropy:
      return OutputLink::softmax;
    case Loss::binary_cross_entropy:
      return OutputLink::sigmoid;
    case Loss::mse:
    case Loss::squared:
    case Loss::absolute:
    case Loss::huber:
      return OutputLink::identity;
  }
  return OutputLink::identity;
}

bool fits(Loss loss, Task task) {
  switch (loss) {
    case Loss::cross_entropy:
    case Loss::mse:
      return task == Task::classes;
    case Loss::binary_cross_entropy:
      return task != Task::values;
    case Loss::squared:
    case Loss::absolute:
    case Loss::huber:
      return task == Task::values;
  }
  return false;
}

Loss usual_loss(Task task) {
  switch (task) {
    case Task::classes:
      return Loss::cross_entropy;
    case Task::values:
      return Loss::squared;
    case Task::labels:
      return Loss::binary_cross_entropy;
  }
  return Loss::cross_entropy;
}

double row_loss(Loss loss, std::span<const float> outputs, std::span<const float> target) {
  const double log_sum = loss == Loss::cross_entropy ? log_of_sum(outputs) : 0;
  double sum = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) sum += term_of(loss, outputs[o], target[o], log_sum).loss;
  return sum * share_of(loss, outputs.size());
}

void row_gradient(Loss loss, std::span<const float> outputs, std::span<const float> target,
                  std::span<double> gradient) {
  const double log_sum = loss == Loss::cross_entropy ? log_of_sum(outputs) : 0;
  const double share = share_of(loss, outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o)
    gradient[o] = share * term_of(loss, outputs[o], target[o], log_sum).gradient;
}

double row_loss(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing) {
  if (loss == Loss::cross_entropy && smoothing == 0) return log_of_sum(outputs) - outputs[label];
  return row_loss(loss, outputs, target_of(label, outputs.size(), smoothing));
}

void row_gradient(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing,
                  std::span<double> gradient) {
  row_gradient(loss, outputs, target_of(label, outputs.size(), smoothing), gradient);
}

}  // namespace filigree
