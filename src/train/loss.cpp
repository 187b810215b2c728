// SPDX-License-Identifier: Apache-2.0
#include "train/loss.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/softmax.h"

namespace filigree::internal {

namespace {

double weight_of(const Outputs& outputs, std::size_t sample) {
  return outputs.weights.empty() ? 1.0 : outputs.weights[sample];
}

}  // namespace

LossFunction::LossFunction(Loss loss, double smoothing, std::size_t outputs, std::size_t stride)
    : loss_(loss),
      smoothing_(smoothing),
      classes_(outputs),
      share_(outputs * stride),
      highest_(stride),
      log_sum_(stride) {}

LossSum LossFunction::operator()(const Outputs& outputs, double scale, std::span<float> delta) {
  std::ranges::fill(delta, 0.0f);
  LossSum sum;
  switch (loss_) {
    case Loss::cross_entropy:
      return {cross_entropy(outputs, scale, delta), score_of_classes(outputs)};
    case Loss::mse:
      return {mean_square(outputs, scale, delta), score_of_classes(outputs)};
    case Loss::binary_cross_entropy:
      return of_labels(outputs, scale, delta);
    case Loss::squared:
    case Loss::absolute:
    case Loss::huber:
      return of_values(outputs, scale, delta);
  }
  return sum;
}

double LossFunction::score_of_classes(const Outputs& outputs) const {
  const auto y = [&](std::size_t c, std::size_t b) { return outputs.y[c * outputs.stride + b]; };
  double correct = 0;
  for (std::size_t b = 0; b < outputs.samples; ++b) {
    const std::size_t label = outputs.labels[b];
    bool right = true;
    for (std::size_t c = 0; c < classes_ && right; ++c)
      right = c == label || (c < label ? y(c, b) < y(label, b) : y(c, b) <= y(label, b));
    correct += right ? 1 : 0;
  }
  return correct;
}

double LossFunction::cross_entropy(const Outputs& outputs, double scale, std::span<float> delta) {
  const std::size_t stride = outputs.stride, samples = outputs.samples;
  const auto y = [&](std::size_t c, std::size_t b) { return outputs.y[c * stride + b]; };
  const double other = smoothing_ / classes_, own = 1 - smoothing_;
  double loss = 0;
  softmax(classes_, stride, outputs.y.data(), share_.data(), highest_.data(), log_sum_.data());
  for (std::size_t b = 0; b < samples; ++b) {
    const std::size_t label = outputs.labels[b];
    double one = own * (double{log_sum_[b]} - y(label, b));
    if (smoothing_ > 0)
      for (std::size_t c = 0; c < classes_; ++c) one += other * (double{log_sum_[b]} - y(c, b));
    loss += weight_of(outputs, b) * one;
  }
  if (delta.empty()) return loss;
  const auto factor = static_cast<float>(scale);
  const auto shift = static_cast<float>(other);
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < samples; ++b)
      delta[c * stride + b] = factor * (share_[c * stride + b] - shift);
  for (std::size_t b = 0; b < samples; ++b)
    delta[outputs.labels[b] * stride + b] -= static_cast<float>(scale * own);
  if (outputs.weights.empty()) return loss;
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < samples; ++b) delta[c * stride + b] *= outputs.weights[b];
  return loss;
}

double LossFunction::mean_square(const Outputs& outputs, double scale, std::span<float> delta) const {
  const std::size_t stride = outputs.stride;
  const double other = smoothing_ / classes_, own = 1 - smoothing_;
  double loss = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    for (std::size_t b = 0; b < outputs.samples; ++b) {
      const double out = outputs.y[c * stride + b], weight = weight_of(outputs, b);
      const double error = out - other - (c == static_cast<std::size_t>(outputs.labels[b]) ? own : 0.0);
      loss += weight * 0.5 * error * error;
      if (!delta.empty()) delta[c * stride + b] = weight * scale * error * out * (1 - out);
    }
  }
  return loss;
}

// The cross-entropy of a logit z and a target t is softplus(z) - t z, its slope sigmoid(z) - t.
LossSum LossFunction::of_labels(const Outputs& outputs, double scale, std::span<float> delta) {
  const std::size_t stride = outputs.stride;
  LossSum sum;
  const auto curve = [&](Activation kind) {
    std::copy_n(outputs.y.begin(), share_.size(), share_.begin());
    apply_activation(kind, share_);
  };
  const auto target = [&](std::size_t at) { return (1 - smoothing_) * outputs.targets[at] + smoothing_ / 2; };
  curve(Activation::softplus);
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < outputs.samples; ++b) {
      const std::size_t at = c * stride + b;
      sum.loss += weight_of(outputs, b) * (double{share_[at]} - target(at) * outputs.y[at]);
      sum.score += (outputs.y[at] > 0) == (outputs.targets[at] > 0.5f) ? 1 : 0;
    }
  sum.score /= classes_;
  if (delta.empty()) return sum;
  curve(Activation::sigmoid);
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < outputs.samples; ++b) {
      const std::size_t at = c * stride + b;
      delta[at] = scale * weight_of(outputs, b) * (share_[at] - target(at));
    }
  return sum;
}

LossSum LossFunction::of_values(const Outputs& outputs, double scale, std::span<float> delta) const {
  const double share = 1.0 / classes_;
  LossSum sum;
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < outputs.samples; ++b) {
      const std::size_t at = c * outputs.stride + b;
      const std::array target = {outputs.targets[at]}, out = {outputs.y[at]};
      const double error = double{out[0]} - target[0], weight = share * weight_of(outputs, b);
      sum.score += share * (1 - error * error);
      sum.loss += weight * row_loss(loss_, out, target);
      if (delta.empty()) continue;
      std::array<double, 1> slope = {};
      row_gradient(loss_, out, target, slope);
      delta[at] = scale * weight * slope[0];
    }
  return sum;
}

}  // namespace filigree::internal
