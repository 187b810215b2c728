// SPDX-License-Identifier: Apache-2.0
// Tests of the activation functions against the double reference on every SIMD target.
#include "kernels/activation.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree {
namespace {

constexpr Activation kAll[] = {Activation::identity, Activation::relu, Activation::leaky_relu,
                               Activation::sigmoid, Activation::tanh};

std::vector<float> applied(Activation activation, float slope, std::vector<float> x) {
  apply_activation(activation, slope, x);
  return x;
}

// Within 1e-6 of the truth; below the normal floats, within the smallest of them.
testing::AssertionResult agrees(Activation activation, float slope, const std::vector<float>& x) {
  const std::vector<float> y = applied(activation, slope, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = activation_reference(activation, double{slope}, double{kInfinity}, double{x[i]});
    const double error = std::fabs(double{y[i]} - truth);
    if (error <= 1e-6 * std::fabs(truth) + double{std::numeric_limits<float>::min()}) continue;
    return testing::AssertionFailure()
           << activation_name(activation) << "(" << x[i] << ") is " << y[i] << " instead of " << truth;
  }
  return testing::AssertionSuccess();
}

TEST(Activation, IsRightByHand) {
  const std::vector<float> x{-2, 0, 3};
  for_each_target([&] {
    EXPECT_EQ(applied(Activation::identity, 0, x), x);
    EXPECT_EQ(applied(Activation::relu, 0, x), (std::vector<float>{0, 0, 3}));
    EXPECT_EQ(applied(Activation::leaky_relu, 0.5f, x), (std::vector<float>{-1, 0, 3}));
    EXPECT_EQ(applied(Activation::leaky_relu, -0.5f, x), (std::vector<float>{1, 0, 3}));
    EXPECT_EQ(applied(Activation::sigmoid, 0, x)[1], 0.5f);
    EXPECT_NEAR(applied(Activation::sigmoid, 0, x)[0], 0.11920292, 1e-7);
    EXPECT_NEAR(applied(Activation::tanh, 0, x)[2], 0.99505475, 1e-7);
  });
}

TEST(Activation, ReferenceClipsReluAtTheCap) {
  EXPECT_EQ(activation_reference(Activation::relu, 0, 2, 3), 2);
  EXPECT_EQ(activation_reference(Activation::relu, 0, 2, -3), 0);
  EXPECT_TRUE(std::isnan(activation_reference(Activation::relu, 0, 2, double{kNan})));
}

TEST(Activation, AgreesWithTheReferenceForEveryLengthAndTouchesNothingElse) {
  for_each_target([] {
    for (const Activation activation : kAll) {
      for (std::size_t size = 0; size <= 70; ++size) {
        std::vector<float> x = random_dense(size, size);
        EXPECT_TRUE(agrees(activation, -0.3f, x)) << size;
        x.push_back(-7);
        apply_activation(activation, -0.3f, std::span(x).first(size));
        EXPECT_EQ(x.back(), -7.0f);
      }
    }
  });
}

TEST(Activation, AgreesWithTheReferenceOverTheWholeRange) {
  std::vector<float> x;
  for (float magnitude = 1e-38f; magnitude < 1e38f; magnitude *= 1.37f) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  for (float v = -110; v <= 110; v += 0.0137f) x.push_back(v);
  for_each_target([&] {
    for (const Activation activation : kAll) EXPECT_TRUE(agrees(activation, 0.01f, x));
  });
}

TEST(Activation, KeepsNanAndGoesToTheLimits) {
  const std::vector<float> x{kNan, kInfinity, -kInfinity};
  for_each_target([&] {
    for (const Activation activation : kAll)
      EXPECT_TRUE(std::isnan(applied(activation, 0.1f, x)[0])) << activation_name(activation);
    const auto limits = [&](Activation activation) {
      const auto y = applied(activation, 0.1f, x);
      return std::vector<float>{y[1], y[2]};
    };
    EXPECT_EQ(limits(Activation::relu), (std::vector<float>{kInfinity, 0}));
    EXPECT_EQ(limits(Activation::leaky_relu), (std::vector<float>{kInfinity, -kInfinity}));
    EXPECT_EQ(limits(Activation::sigmoid), (std::vector<float>{1, 0}));
    EXPECT_EQ(limits(Activation::tanh), (std::vector<float>{1, -1}));
  });
}

}  // namespace
}  // namespace filigree
