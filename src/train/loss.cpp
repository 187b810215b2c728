// SPDX-License-Identifier: Apache-2.0
#include "train/loss.h"

#include <algorithm>

#include "kernels/softmax.h"

namespace filigree::internal {

LossFunction::LossFunction(Loss loss, double smoothing, std::size_t classes, std::size_t stride)
    : loss_(loss),
      smoothing_(smoothing),
      classes_(classes),
      share_(classes * stride),
      highest_(stride),
      log_sum_(stride) {}

LossSum LossFunction::operator()(const Outputs& outputs, double scale, std::span<float> delta) {
  const std::size_t stride = outputs.stride;
  const auto y = [&](std::size_t c, std::size_t b) { return outputs.y[c * stride + b]; };
  LossSum sum;
  for (std::size_t b = 0; b < outputs.labels.size(); ++b) {  // right: the largest, and the first of equals
    const std::size_t label = outputs.labels[b];
    bool right = true;
    for (std::size_t c = 0; c < classes_ && right; ++c)
      right = c == label || (c < label ? y(c, b) < y(label, b) : y(c, b) <= y(label, b));
    sum.correct += right;
  }
  std::ranges::fill(delta, 0.0f);
  switch (loss_) {
    case Loss::cross_entropy:
      sum.loss = cross_entropy(outputs, scale, delta);
      break;
    case Loss::mse:
      sum.loss = mean_square(outputs, scale, delta);
      break;
  }
  return sum;
}

double LossFunction::cross_entropy(const Outputs& outputs, double scale, std::span<float> delta) {
  const std::size_t stride = outputs.stride, samples = outputs.labels.size();
  const auto y = [&](std::size_t c, std::size_t b) { return outputs.y[c * stride + b]; };
  const double other = smoothing_ / classes_, own = 1 - smoothing_;
  double loss = 0;
  softmax(classes_, stride, outputs.y.data(), share_.data(), highest_.data(), log_sum_.data());
  for (std::size_t b = 0; b < samples; ++b) {
    const std::size_t label = outputs.labels[b];
    loss += own * (double{log_sum_[b]} - y(label, b));
    if (smoothing_ > 0)
      for (std::size_t c = 0; c < classes_; ++c) loss += other * (double{log_sum_[b]} - y(c, b));
  }
  if (delta.empty()) return loss;
  const auto factor = static_cast<float>(scale);
  const auto shift = static_cast<float>(other);
  for (std::size_t c = 0; c < classes_; ++c)
    for (std::size_t b = 0; b < samples; ++b)
      delta[c * stride + b] = factor * (share_[c * stride + b] - shift);
  for (std::size_t b = 0; b < samples; ++b)
    delta[outputs.labels[b] * stride + b] -= static_cast<float>(scale * own);
  return loss;
}

double LossFunction::mean_square(const Outputs& outputs, double scale, std::span<float> delta) const {
  const std::size_t stride = outputs.stride;
  const double other = smoothing_ / classes_, own = 1 - smoothing_;
  double loss = 0;
  for (std::size_t c = 0; c < classes_; ++c) {
    for (std::size_t b = 0; b < outputs.labels.size(); ++b) {
      const double out = outputs.y[c * stride + b];
      const double error = out - other - (c == static_cast<std::size_t>(outputs.labels[b]) ? own : 0.0);
      loss += 0.5 * error * error;
      if (!delta.empty()) delta[c * stride + b] = scale * error * out * (1 - out);
    }
  }
  return loss;
}

}  // namespace filigree::internal
