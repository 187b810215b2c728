// SPDX-License-Identifier: Apache-2.0
// Tests of gradient descent against its reference on every SIMD target.
#include "kernels/descent.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

using Dense = std::vector<float>;
constexpr Optimizer kOptimizers[] = {Optimizer::sgd, Optimizer::nesterov, Optimizer::adam, Optimizer::adamw,
                                     Optimizer::lion};

struct Weights {
  Dense value, gradient, first, second;

  Weights(Optimizer optimizer, std::size_t count, std::uint64_t seed)
      : value(random_dense(count, seed)), gradient(random_dense(count, seed + 1)) {
    if (moments_of(optimizer) > 0) first = random_dense(count, seed + 2);
    if (moments_of(optimizer) > 1) second = absolute(random_dense(count, seed + 3));
  }
  Descent at() { return {value, gradient, first, second}; }
};

constexpr DescentRates kRates{.lr = 0.1f,
                              .decay = 0.01f,
                              .scale = 0.7f,
                              .momentum = 0.9f,
                              .beta1 = 0.9f,
                              .beta2 = 0.99f,
                              .epsilon = 1e-6f,
                              .correct1 = 1.7f,
                              .correct2 = 2.3f};

TEST(Descend, MovesByHand) {
  // A weight of 2, gradient 3, momentum 4, mean square 4; exact numbers.
  const auto step = [](Optimizer optimizer, DescentRates rates) {
    Dense value{2}, gradient{3}, first{4}, second{4};
    if (moments_of(optimizer) < 1) first.clear();
    if (moments_of(optimizer) < 2) second.clear();
    rates.optimizer = optimizer;
    descend(rates, {value, gradient, first, second});
    return value[0];
  };
  for_each_target([&] {
    EXPECT_EQ(step(Optimizer::sgd, {.lr = 0.5f, .decay = 0.25f, .scale = 2}), 2 - 0.5f * (6 + 0.5f));
    // momentum 0.5 · 4 + 3 = 5; 2 - 0.5 (3 + 0.5 · 5)
    EXPECT_EQ(step(Optimizer::nesterov, {.lr = 0.5f, .momentum = 0.5f}), -0.75f);
    // first 0.5 · 4 + 0.5 · 3 = 3.5, second 0.875 · 4 + 0.125 · 9 = 4.625, corrected to 7 and 9.25
    EXPECT_FLOAT_EQ(
        step(Optimizer::adam, {.lr = 0.5f, .beta1 = 0.5f, .beta2 = 0.875f, .correct1 = 2, .correct2 = 2}),
        2 - 0.5f * 7 / std::sqrt(9.25f));
    // decay apart from the gradient: 2 - 0.5 · 0.25 · 2
    EXPECT_FLOAT_EQ(
        step(Optimizer::adamw,
             {.lr = 0.5f, .decay = 0.25f, .beta1 = 0.5f, .beta2 = 0.875f, .correct1 = 2, .correct2 = 2}),
        1.75f - 0.5f * 7 / std::sqrt(9.25f));
    // The sign of 0.5 · 4 - 0.5 · 9 (a scale of -3) is minus: 2 + 0.5 (1 - 0.25 · 2)
    EXPECT_EQ(step(Optimizer::lion, {.lr = 0.5f, .decay = 0.25f, .scale = -3, .beta1 = 0.5f, .beta2 = 0.75f}),
              2.25f);
  });
}

TEST(Descend, GivesTheBitsOfTheReferenceForEveryLength) {
  for_each_target([&] {
    for (const Optimizer optimizer : kOptimizers) {
      for (std::size_t count = 0; count <= 70; ++count) {
        Weights moved(optimizer, count, count), expected = moved;
        DescentRates rates = kRates;
        rates.optimizer = optimizer;
        descend(rates, moved.at());
        descend_reference(rates, expected.at());
        EXPECT_EQ(moved.value, expected.value) << count;
        EXPECT_EQ(moved.first, expected.first) << count;
        EXPECT_EQ(moved.second, expected.second) << count;
      }
    }
  });
}

TEST(AddTo, GivesTheBitsOfTheReferenceForEveryLength) {
  for_each_target([&] {
    for (std::size_t count = 0; count <= 70; ++count) {
      Dense sum = random_dense(count, count), expected = sum;
      const Dense other = random_dense(count, count + 1);
      add_to(sum, other);
      add_to_reference(expected, other);
      EXPECT_EQ(sum, expected) << count;
    }
  });
}

TEST(SumOfSquares, AgreesWithTheReferenceForEveryLength) {
  for_each_target([&] {
    for (std::size_t count = 0; count <= 200; ++count) {
      const Dense values = random_dense(count, count);
      const double expected = sum_of_squares_reference(values);
      EXPECT_NEAR(sum_of_squares(values), expected, 1e-13 * expected) << count;
    }
    EXPECT_TRUE(std::isnan(sum_of_squares(Dense(40, kNan))));
    EXPECT_EQ(sum_of_squares(Dense{1e30f, 1}), double{1e30f} * 1e30f + 1);
  });
}

}  // namespace
}  // namespace filigree::internal
