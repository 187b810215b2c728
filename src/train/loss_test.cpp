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

// The loss of one sample by its sums z, from the definitions.
double loss_of(Loss loss, double smoothing, const std::vector<double>& z, std::size_t label) {
  const double classes = z.size();
  double powers = 0, sum = 0;
  for (const double each : z) powers += std::exp(each);
  for (std::size_t c = 0; c < z.size(); ++c) {
    const double target = smoothing / classes + (c == label ? 1 - smoothing : 0);
    sum += loss == Loss::mse ? 0.5 * (sigmoid(z[c]) - target) * (sigmoid(z[c]) - target)
                             : -target * std::log(std::exp(z[c]) / powers);
  }
  return sum;
}

TEST(LossFunction, IsRightByHand) {
  std::vector<float> y(2 * kStride, 0.0f);
  y[0] = std::log(3.0f);  // 3 : 1
  const std::vector<Index> labels{0, 1};
  LossFunction cross_entropy(Loss::cross_entropy, 0, 2, kStride);
  std::vector<float> delta(2 * kStride, -7.0f);
  const LossSum sum = cross_entropy({y, kStride, labels}, 0.5, delta);
  EXPECT_NEAR(sum.loss, std::log(4.0 / 3) + std::log(2.0), 1e-6);
  EXPECT_EQ(sum.correct, 1);  // the second's two logits are equal, and the first of them is not its label
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
  EXPECT_EQ(squared.correct, 1);
  EXPECT_NEAR(delta[0], 2 * (0.75 - 1) * 0.75 * 0.25, 1e-6);
  EXPECT_NEAR(delta[kStride], 2 * 0.5 * 0.5 * 0.5, 1e-6);
  EXPECT_EQ(delta[1], 0.0f);
}

TEST(RowLoss, IsTheDefinitionAndItsSlope) {
  // Outputs are floats of size 8 at most: half a unit in their last place, 2⁻²², times a slope of at most
  // one, and as much again for the sum over five classes.
  constexpr double kTolerance = 10 * 0x1p-22;
  constexpr double kStep = 1e-5;  // truncation kStep² and rounding 2⁻⁵³ / kStep, both far below
  Random random(3);
  for (std::size_t l = 0; l < Words<Loss>::kWords.size(); ++l) {
    const auto loss = static_cast<Loss>(l);
    for (const double smoothing : {0.0, 0.3}) {
      std::vector<double> z(5);
      for (double& each : z) each = 2 * random.normal();
      std::vector<float> outputs;
      for (const double each : z) outputs.push_back(output_activation(loss)(each));
      const std::size_t label = random.below(z.size());
      EXPECT_NEAR(row_loss(loss, outputs, label, smoothing), loss_of(loss, smoothing, z, label), kTolerance);
      std::vector<double> gradient(z.size());
      row_gradient(loss, outputs, label, smoothing, gradient);
      for (std::size_t c = 0; c < z.size(); ++c) {
        std::vector<double> up = z, down = z;
        up[c] += kStep;
        down[c] -= kStep;
        const double slope =
            (loss_of(loss, smoothing, up, label) - loss_of(loss, smoothing, down, label)) / (2 * kStep);
        EXPECT_NEAR(gradient[c], slope, kTolerance) << word(loss) << ", output " << c;
      }
    }
  }
}

TEST(LossFunction, CountsTheFirstOfTheLargestAsTheAnswer) {
  std::vector<float> y(3 * kStride, 1.0f);  // equal in all classes
  const std::vector<Index> labels{0, 1, 2};
  LossFunction loss(Loss::cross_entropy, 0, 3, kStride);
  EXPECT_EQ(loss({y, kStride, labels}, 1, {}).correct, 1);
  y[2 * kStride + 2] = 2;
  EXPECT_EQ(loss({y, kStride, labels}, 1, {}).correct, 2);
}

TEST(LossFunction, HasTheGradientThatCentralDifferencesTell) {
  for (const Loss kind : {Loss::cross_entropy, Loss::mse}) {
    for (const double smoothing : {0.0, 0.1, 0.5}) {
      for (const std::size_t classes : {2, 3, 10}) {
        for (const std::size_t samples : {1, 31, 32}) {
          Random random(classes);
          std::vector<double> z(classes * kStride);
          std::vector<Index> labels(samples);
          for (double& each : z) each = static_cast<float>(2 * random.normal());
          for (Index& label : labels) label = random.below(classes);
          std::vector<float> y(z.begin(), z.end());
          if (kind == Loss::mse)
            for (std::size_t i = 0; i < z.size(); ++i) y[i] = sigmoid(z[i]);
          LossFunction function(kind, smoothing, classes, kStride);
          std::vector<float> delta(y.size(), -7.0f);
          const LossSum sum = function({y, kStride, labels}, 0.25, delta);
          EXPECT_EQ(function({y, kStride, labels}, 0.25, {}).loss, sum.loss);
          double expected = 0;
          for (std::size_t b = 0; b < samples; ++b) {
            std::vector<double> sample(classes);
            for (std::size_t c = 0; c < classes; ++c) sample[c] = z[c * kStride + b];
            const std::size_t label = labels[b];
            expected += loss_of(kind, smoothing, sample, label);
            for (std::size_t c = 0; c < classes; ++c) {
              constexpr double kStep = 1e-5;
              auto above = sample, below = sample;
              above[c] += kStep;
              below[c] -= kStep;
              const double slope =
                  (loss_of(kind, smoothing, above, label) - loss_of(kind, smoothing, below, label)) /
                  (2 * kStep);
              EXPECT_NEAR(delta[c * kStride + b], 0.25 * slope, 1e-6);  // what float outputs can tell
            }
          }
          EXPECT_NEAR(sum.loss, expected, 1e-5 * static_cast<double>(samples));
          for (std::size_t c = 0; c < classes; ++c)
            for (std::size_t b = samples; b < kStride; ++b) EXPECT_EQ(delta[c * kStride + b], 0.0f);
        }
      }
    }
  }
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
