// SPDX-License-Identifier: Apache-2.0
// Tests of the activation functions against the double reference on every SIMD target, and of what is said of
// each.
#include "kernels/activation.h"

#include <gtest/gtest.h>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

const std::vector<ActivationFunction> kAll = {Activation::identity,
                                              Activation::relu,
                                              {Activation::relu, 2.5f},
                                              ActivationFunction::leaky(0.01f),
                                              ActivationFunction::leaky(-0.3f),
                                              ActivationFunction::leaky(0),
                                              Activation::sigmoid,
                                              Activation::tanh,
                                              Activation::softplus};

std::string text_of(const ActivationFunction& f) {
  return fmt::format("{}, cap {}, slope {}", activation_name(f.kind), f.cap, f.slope);
}

std::vector<float> applied(const ActivationFunction& activation, std::vector<float> x) {
  apply_activation(activation, x);
  return x;
}

// Numbers of all sizes and signs.
std::vector<float> whole_range() {
  std::vector<float> x;
  for (float magnitude = 1e-38f; magnitude < 1e38f; magnitude *= 1.37f) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  for (float v = -110; v <= 110; v += 0.0137f) x.push_back(v);
  return x;
}

// Within 1e-6 of the truth; below the normal floats, within the smallest of them.
testing::AssertionResult agrees(const ActivationFunction& activation, const std::vector<float>& x) {
  const std::vector<float> y = applied(activation, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = activation(double{x[i]});
    const double error = std::fabs(double{y[i]} - truth);
    if (error <= 1e-6 * std::fabs(truth) + double{std::numeric_limits<float>::min()}) continue;
    return testing::AssertionFailure()
           << text_of(activation) << " of " << x[i] << " is " << y[i] << " instead of " << truth;
  }
  return testing::AssertionSuccess();
}

TEST(Activation, EveryKindIsTested) {
  for (std::size_t kind = 0; kind < kActivationNames.size(); ++kind)
    EXPECT_TRUE(std::ranges::any_of(kAll, [&](const ActivationFunction& f) {
      return f.is(static_cast<Activation>(kind));
    })) << kActivationNames[kind];
}

TEST(Activation, IsRightByHand) {
  const std::vector<float> x{-2, 0, 3};
  for_each_target([&] {
    EXPECT_EQ(applied(Activation::identity, x), x);
    EXPECT_EQ(applied(Activation::relu, x), (std::vector<float>{0, 0, 3}));
    EXPECT_EQ(applied({Activation::relu, 2}, x), (std::vector<float>{0, 0, 2}));
    EXPECT_EQ(applied(ActivationFunction::leaky(0.5f), x), (std::vector<float>{-1, 0, 3}));
    EXPECT_EQ(applied(ActivationFunction::leaky(-0.5f), x), (std::vector<float>{1, 0, 3}));
    EXPECT_EQ(applied(Activation::sigmoid, x)[1], 0.5f);
    EXPECT_NEAR(applied(Activation::sigmoid, x)[0], 0.11920292, 1e-7);
    EXPECT_NEAR(applied(Activation::tanh, x)[2], 0.99505475, 1e-7);
    EXPECT_NEAR(applied(Activation::softplus, x)[0], 0.12692801, 1e-7);
    EXPECT_NEAR(applied(Activation::softplus, x)[1], 0.69314718, 1e-7);
  });
}

TEST(Activation, ReferenceClipsReluAtTheCap) {
  const ActivationFunction capped{Activation::relu, 2};
  EXPECT_EQ(capped(3), 2);
  EXPECT_EQ(capped(-3), 0);
  EXPECT_TRUE(std::isnan(capped(double{kNan})));
}

TEST(Activation, AgreesWithTheReferenceForEveryLengthAndTouchesNothingElse) {
  for_each_target([] {
    for (const ActivationFunction& activation : kAll) {
      for (std::size_t size = 0; size <= 70; ++size) {
        std::vector<float> x = random_dense(size, size);
        EXPECT_TRUE(agrees(activation, x)) << size;
        x.push_back(-7);
        apply_activation(activation, std::span(x).first(size));
        EXPECT_EQ(x.back(), -7.0f);
      }
    }
  });
}

TEST(Activation, AgreesWithTheReferenceOverTheWholeRange) {
  const std::vector<float> x = whole_range();
  for_each_target([&] {
    for (const ActivationFunction& activation : kAll) EXPECT_TRUE(agrees(activation, x));
  });
}

TEST(Activation, KeepsNanAndGoesToTheLimits) {
  const std::vector<float> x{kNan, kInfinity, -kInfinity};
  for_each_target([&] {
    for (const ActivationFunction& activation : kAll)
      EXPECT_TRUE(std::isnan(applied(activation, x)[0])) << text_of(activation);
    const auto limits = [&](const ActivationFunction& activation) {
      const auto y = applied(activation, x);
      return std::vector<float>{y[1], y[2]};
    };
    EXPECT_EQ(limits(Activation::relu), (std::vector<float>{kInfinity, 0}));
    EXPECT_EQ(limits(ActivationFunction::leaky(0.1f)), (std::vector<float>{kInfinity, -kInfinity}));
    EXPECT_EQ(limits(Activation::sigmoid), (std::vector<float>{1, 0}));
    EXPECT_EQ(limits(Activation::tanh), (std::vector<float>{1, -1}));
    EXPECT_EQ(limits(Activation::softplus), (std::vector<float>{kInfinity, 0}));
  });
}

TEST(Activation, DerivativeIsTheSlope) {
  for (const ActivationFunction& f : kAll)
    for (double z = -6; z < 6; z += 0.31) {
      if (std::fabs(z) < 1e-3 || std::fabs(z - double{f.cap}) < 1e-3) continue;  // a corner
      const double h = 1e-5;
      EXPECT_NEAR(f.derivative(z), (f(z + h) - f(z - h)) / (2 * h), 1e-9) << text_of(f) << " at " << z;
    }
}

TEST(Activation, DeltasAreMultipliedByTheDerivative) {
  for_each_target([] {
    for (const ActivationFunction& f : kAll) {
      if (f.saturates()) continue;
      for (const std::size_t size : {0u, 1u, 7u, 16u, 33u, 70u}) {
        std::vector<float> z = random_dense(size, size + 1), delta = random_dense(size, size + 2);
        for (float& v : z) v *= 8;
        const std::vector<float> y = applied(f, z), before = delta;
        multiply_by_derivative(f, y, f.derivative_needs_sum() ? z : std::vector<float>{}, delta);
        for (std::size_t i = 0; i < size; ++i)
          // From the rounded result: a relative error of y moves 1 - y² by as much as y does.
          EXPECT_NEAR(delta[i], double{before[i]} * f.derivative(double{z[i]}), 2e-6 * std::fabs(before[i]))
              << text_of(f) << " at " << z[i];
      }
    }
  });
}

TEST(Activation, InverseLeadsBack) {
  for (const ActivationFunction& f : kAll)
    for (float z = -5; z < 5; z += 0.37f) {
      const auto y = static_cast<float>(f(double{z}));
      // A rounding of y moves the sum by as much over the slope there, and the result by as much again.
      EXPECT_NEAR(f(double{f.inverse(y)}), double{y}, 1e-6 * (1 + std::fabs(double{y})))
          << text_of(f) << " at " << z;
    }
  for (const float y : {0.0f, 1.0f})
    EXPECT_TRUE(std::isfinite(ActivationFunction(Activation::sigmoid).inverse(y)));
  EXPECT_TRUE(std::isfinite(ActivationFunction(Activation::tanh).inverse(1)));
  for (const float y : {-1.0f, 0.0f, 1e30f})
    EXPECT_TRUE(std::isfinite(ActivationFunction(Activation::softplus).inverse(y)));
}

// What the executor and the proof rely on.
TEST(Activation, SaysTheTruthAboutZeroAndOrder) {
  std::vector<float> z = whole_range();
  z.insert(z.end(), {0.0f, -0.0f});
  std::ranges::sort(z);
  for (const ActivationFunction& f : kAll) {
    const std::vector<float> y = applied(f, z);
    bool rises = true;
    for (std::size_t i = 0; i < z.size(); ++i) {
      EXPECT_TRUE(!f.gives_zero(z[i]) || y[i] == 0) << text_of(f) << " of " << z[i];
      switch (f.zero_sums()) {
        case ZeroSums::none_above_zero:
          EXPECT_EQ(y[i] == 0, z[i] <= 0) << text_of(f) << " of " << z[i];
          break;
        case ZeroSums::zero_alone:
          EXPECT_EQ(y[i] == 0, z[i] == 0) << text_of(f) << " of " << z[i];
          break;
        case ZeroSums::any:
          break;
      }
      if (i > 0) rises = rises && f(double{z[i]}) >= f(double{z[i - 1]});
    }
    EXPECT_EQ(f.non_decreasing(), rises) << text_of(f);
  }
}

}  // namespace
}  // namespace filigree::internal
