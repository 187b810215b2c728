// SPDX-License-Identifier: Apache-2.0
// Tests of the losses by hand, and of their gradients by central differences.
#include "train/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kStride = 32;

double sigmoid(double z) {
  return 1 / (1 + std::exp(-z));
}

// What the outputs of a sample should be, with smoothing in it.
std::vector<double> smooth(Loss loss, double smoothing, const std::vector<double>& target) {
  std::vector<double> result;
  const double share = fits(loss, Task::classes) && loss != Loss::binary_cross_entropy ? target.size() : 2.0;
  for (const double each : target)
    result.push_back(fits(loss, Task::values) ? each : smoothing / share + (1 - smoothing) * each);
  return result;
}

// The loss of one sample by its sums z, from the definitions.
double loss_of(Loss loss, double smoothing, const std::vector<double>& z, const std::vector<double>& given) {
  const std::vector<double> target = smooth(loss, smoothing, given);
  const double outputs = z.size();
  double powers = 0, sum = 0;
  for (const double each : z) powers += std::exp(each);
  for (std::size_t c = 0; c < z.size(); ++c) {
    const double t = target[c], error = z[c] - t, squashed = sigmoid(z[c]) - t;
    switch (loss) {
      case Loss::cross_entropy:
        sum -= t * std::log(std::exp(z[c]) / powers);
        break;
      case Loss::mse:
        sum += 0.5 * squashed * squashed;
        break;
      case Loss::binary_cross_entropy:
        sum -= t * std::log(sigmoid(z[c])) + (1 - t) * std::log(1 - sigmoid(z[c]));
        break;
      case Loss::squared:
        sum += 0.5 * error * error / outputs;
        break;
      case Loss::absolute:
        sum += std::abs(error) / outputs;
        break;
      case Loss::huber:
        sum += (std::abs(error) < 1 ? 0.5 * error * error : std::abs(error) - 0.5) / outputs;
        break;
    }
  }
  return sum;
}

std::vector<double> one_hot(std::size_t classes, std::size_t label) {
  std::vector<double> target(classes, 0.0);
  target[label] = 1;
  return target;
}

constexpr Loss kLosses[] = {Loss::cross_entropy, Loss::mse,      Loss::binary_cross_entropy,
                            Loss::squared,       Loss::absolute, Loss::huber};
static_assert(std::size(kLosses) == Words<Loss>::kWords.size());

// A target for each output that the loss can have: a class, labels, or values.
std::vector<double> random_target(Loss loss, std::size_t outputs, Random& random) {
  if (loss == Loss::cross_entropy || loss == Loss::mse) return one_hot(outputs, random.below(outputs));
  std::vector<double> target;
  for (std::size_t c = 0; c < outputs; ++c)
    target.push_back(fits(loss, Task::labels) ? static_cast<double>(random.below(2))
                                              : static_cast<float>(2 * random.normal()));
  return target;
}

TEST(LossFunction, IsRightByHand) {
  std::vector<float> y(2 * kStride, 0.0f);
  y[0] = std::log(3.0f);  // 3 : 1
  const std::vector<Index> labels{0, 1};
  LossFunction cross_entropy(Loss::cross_entropy, 0, 2, kStride);
  std::vector<float> delta(2 * kStride, -7.0f);
  const LossSum sum = cross_entropy({y, kStride, labels}, 0.5, delta);
  EXPECT_NEAR(sum.loss, std::log(4.0 / 3) + std::log(2.0), 1e-6);
  EXPECT_EQ(sum.score, 1);  // the second's two logits are equal, and the first of them is not its label
  EXPECT_NEAR(delta[0], 0.5 * (0.75 - 1), 1e-6);
  EXPECT_NEAR(delta[kStride], 0.5 * 0.25, 1e-6);
  EXPECT_NEAR(delta[1], 0.5 * 0.5, 1e-6);
  EXPECT_NEAR(delta[kStride + 1], 0.5 * -0.5, 1e-6);
  for (std::size_t b = 2; b < kStride; ++b) EXPECT_EQ(delta[b], 0.0f) << "no label, no gradient";

  y.assign(2 * kStride, 0.5f);
  y[0] = 0.75f;
  LossFunction squares(Loss::mse, 0, 2, kStride);
  const LossSum squared = squares({y, kStride, std::span(labels).first(1)}, 2, delta);
  EXPECT_NEAR(squared.loss, 0.5 * (0.25 * 0.25 + 0.5 * 0.5), 1e-6);
  EXPECT_EQ(squared.score, 1);
  EXPECT_NEAR(delta[0], 2 * (0.75 - 1) * 0.75 * 0.25, 1e-6);
  EXPECT_NEAR(delta[kStride], 2 * 0.5 * 0.5 * 0.5, 1e-6);
  EXPECT_EQ(delta[1], 0.0f);
}

TEST(RowLoss, IsTheDefinitionAndItsSlope) {
  // Outputs are floats of size 8 at most: half a unit in their last place, 2⁻²², times a slope of at most
  // eight (a squared error's), and as much again for the sum over five outputs.
  constexpr double kTolerance = 80 * 0x1p-22;
  constexpr double kStep = 1e-5;  // truncation kStep² and rounding 2⁻⁵³ / kStep, both far below
  Random random(3);
  for (const Loss loss : kLosses) {
    for (const double smoothing : {0.0, 0.3}) {
      std::vector<double> z(5);
      for (double& each : z) each = static_cast<float>(2 * random.normal());
      std::vector<float> outputs;
      for (const double each : z) outputs.push_back(output_activation(loss)(each));
      const std::vector<double> given = random_target(loss, z.size(), random);
      const std::vector<double> smoothed = smooth(loss, smoothing, given);
      const std::vector<float> target(smoothed.begin(), smoothed.end());
      EXPECT_NEAR(row_loss(loss, outputs, target), loss_of(loss, smoothing, z, given), kTolerance);
      std::vector<double> gradient(z.size());
      row_gradient(loss, outputs, target, gradient);
      for (std::size_t c = 0; c < z.size(); ++c) {
        std::vector<double> up = z, down = z;
        up[c] += kStep;
        down[c] -= kStep;
        const double slope =
            (loss_of(loss, smoothing, up, given) - loss_of(loss, smoothing, down, given)) / (2 * kStep);
        EXPECT_NEAR(gradient[c], slope, kTolerance) << word(loss) << ", output " << c;
      }
      if (loss != Loss::cross_entropy && loss != Loss::mse) continue;
      const std::size_t label = std::ranges::max_element(given) - given.begin();
      EXPECT_NEAR(row_loss(loss, outputs, label, smoothing), row_loss(loss, outputs, target), kTolerance);
    }
  }
}

TEST(RowLoss, TellsTwoClassesApartByOneOutput) {
  const std::vector<float> outputs{1.5f};
  EXPECT_NEAR(row_loss(Loss::binary_cross_entropy, outputs, std::size_t{1}), -std::log(sigmoid(1.5)), 1e-15);
  EXPECT_NEAR(row_loss(Loss::binary_cross_entropy, outputs, std::size_t{0}), -std::log(1 - sigmoid(1.5)),
              1e-15);
}

TEST(LossFunction, CountsTheFirstOfTheLargestAsTheAnswer) {
  std::vector<float> y(3 * kStride, 1.0f);  // equal in all classes
  const std::vector<Index> labels{0, 1, 2};
  LossFunction loss(Loss::cross_entropy, 0, 3, kStride);
  EXPECT_EQ(loss({y, kStride, labels}, 1, {}).score, 1);
  y[2 * kStride + 2] = 2;
  EXPECT_EQ(loss({y, kStride, labels}, 1, {}).score, 2);
}

// Samples side by side, neuron-major, and the same one by one.
struct Samples {
  std::vector<float> y, targets, weights;
  std::vector<Index> labels;
  std::vector<std::vector<double>> z, target;

  Samples(Loss loss, std::size_t outputs, std::size_t samples, Random& random)
      : y(outputs * kStride, 0.25f), targets(outputs * kStride, 0.0f) {
    for (std::size_t b = 0; b < samples; ++b) {
      target.push_back(random_target(loss, outputs, random));
      labels.push_back(std::ranges::max_element(target[b]) - target[b].begin());
      weights.push_back(static_cast<float>(random.below(3)));
      z.emplace_back();
      for (std::size_t c = 0; c < outputs; ++c) {
        z[b].push_back(static_cast<float>(2 * random.normal()));
        y[c * kStride + b] = loss == Loss::mse ? sigmoid(z[b][c]) : z[b][c];
        targets[c * kStride + b] = target[b][c];
      }
    }
  }
  Outputs view(Loss loss, bool weighted) const {
    Outputs outputs{y, kStride};
    if (loss == Loss::cross_entropy || loss == Loss::mse)
      outputs.labels = labels;
    else
      outputs.targets = targets;
    if (weighted) outputs.weights = weights;
    outputs.samples = labels.size();
    return outputs;
  }
};

void expect_slopes(Loss kind, double smoothing, std::size_t outputs, std::size_t count, bool weighted) {
  Random random(outputs);
  const Samples samples(kind, outputs, count, random);
  LossFunction function(kind, smoothing, outputs, kStride);
  std::vector<float> delta(samples.y.size(), -7.0f);
  const LossSum sum = function(samples.view(kind, weighted), 0.25, delta);
  EXPECT_EQ(function(samples.view(kind, weighted), 0.25, {}).loss, sum.loss);
  double expected = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const double weight = weighted ? samples.weights[b] : 1.0;
    expected += weight * loss_of(kind, smoothing, samples.z[b], samples.target[b]);
    for (std::size_t c = 0; c < outputs; ++c) {
      constexpr double kStep = 1e-5;
      auto above = samples.z[b], below = above;
      above[c] += kStep;
      below[c] -= kStep;
      const double slope = (loss_of(kind, smoothing, above, samples.target[b]) -
                            loss_of(kind, smoothing, below, samples.target[b])) /
                           (2 * kStep);
      // Shares and sigmoids are within 1e-6 of the reference, errors of values (below 16) exact to 2⁻²⁰.
      EXPECT_NEAR(delta[c * kStride + b], 0.25 * weight * slope, 0.25 * weight * 2e-6)
          << word(kind) << ", output " << c << " of sample " << b;
    }
  }
  // Each output's loss is within 1e-6 of itself and of the output, which is below 16.
  EXPECT_NEAR(sum.loss, expected, 2e-5 * static_cast<double>(count * outputs));
  for (std::size_t c = 0; c < outputs; ++c)
    for (std::size_t b = count; b < kStride; ++b) EXPECT_EQ(delta[c * kStride + b], 0.0f);
}

TEST(LossFunction, HasTheGradientThatCentralDifferencesTell) {
  for (const Loss kind : kLosses)
    for (const double smoothing : {0.0, 0.1, 0.5})
      for (const std::size_t outputs : {2, 3, 10})
        for (const std::size_t samples : {1, 31, 32})
          for (const bool weighted : {false, true})
            expect_slopes(kind, smoothing, outputs, samples, weighted);
}

TEST(LossFunction, ScoresLabelsAndValues) {
  std::vector<float> y(2 * kStride, 0.0f), targets(2 * kStride, 0.0f);
  y[0] = 3, targets[0] = 1;  // right
  y[kStride] = 3;            // wrong: it should not hold
  Outputs outputs{y, kStride, {}, targets};
  outputs.samples = 1;
  EXPECT_EQ(LossFunction(Loss::binary_cross_entropy, 0, 2, kStride)(outputs, 1, {}).score, 0.5);
  EXPECT_EQ(LossFunction(Loss::squared, 0, 2, kStride)(outputs, 1, {}).score, 1 - (4 + 9) / 2.0);
  EXPECT_EQ(LossFunction(Loss::huber, 0, 2, kStride)(outputs, 1, {}).score, 1 - (4 + 9) / 2.0);
}

TEST(LossFunction, LetsNoLogitThatIsNotFinitePassUnseen) {
  const std::vector<Index> labels{0};
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t c : {0, 1, 2}) {
      if (c != 0 && odd < 0) continue;  // a share of exactly 0 is no accident
      std::vector<float> y(3 * kStride, 0.0f), delta(3 * kStride);
      y[c * kStride] = odd;
      LossFunction loss(Loss::cross_entropy, 0, 3, kStride);
      EXPECT_FALSE(std::isfinite(loss({y, kStride, labels}, 1, delta).loss)) << odd << " of class " << c;
    }
  }
}

}  // namespace
}  // namespace filigree::internal
