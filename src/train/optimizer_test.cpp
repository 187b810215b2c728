// SPDX-License-Identifier: Apache-2.0
// Tests of the optimizers against their formulas in double.
#include "train/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/test_threads.h"
#include "train/test_training.h"
#include "train/topology.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kSlices = 3;

std::vector<TrainLayer> network(const TrainOptions& options) {
  auto layers = make_layers(options, false, kSlices);
  Random random(99);
  for (TrainLayer& layer : layers)
    for (float& bias : layer.bias) bias = random.normal();
  return layers;
}

// One parameter in double.
struct Parameter {
  double value = 0, first = 0, second = 0;

  void step(const TrainOptions& o, double gradient, double lr, double decay, double t) {
    const bool decoupled =
        o.learning.optimizer == Optimizer::adamw || o.learning.optimizer == Optimizer::lion;
    if (!decoupled) gradient += decay * value;
    switch (o.learning.optimizer) {
      case Optimizer::sgd:
        value -= lr * gradient;
        break;
      case Optimizer::nesterov:  // as PyTorch has it
        first = o.learning.momentum * first + gradient;
        value -= lr * (gradient + o.learning.momentum * first);
        break;
      case Optimizer::adam:
      case Optimizer::adamw: {
        first = o.learning.beta1 * first + (1 - o.learning.beta1) * gradient;
        second = o.learning.beta2 * second + (1 - o.learning.beta2) * gradient * gradient;
        if (o.learning.optimizer == Optimizer::adamw) value -= lr * decay * value;
        const double mean = first / (1 - std::pow(o.learning.beta1, t));
        const double square = second / (1 - std::pow(o.learning.beta2, t));
        value -= lr * mean / (std::sqrt(square) + o.learning.epsilon);
        break;
      }
      case Optimizer::lion: {
        const double mean = o.learning.beta1 * first + (1 - o.learning.beta1) * gradient;
        first = o.learning.beta2 * first + (1 - o.learning.beta2) * gradient;
        value -= lr * ((mean > 0) - (mean < 0) + decay * value);
        break;
      }
    }
  }
};

void check_optimizer(const TrainOptions& options, double bound) {
  SCOPED_TRACE(word(options.learning.optimizer));
  auto layers = network(options);
  std::vector<std::vector<float>*> values, gradients;
  for (TrainLayer& layer : layers) {
    values.insert(values.end(), {&layer.value, &layer.bias});
    gradients.insert(gradients.end(), {&layer.gradient, &layer.bias_gradient});
  }
  std::vector<std::vector<Parameter>> expected;
  for (const auto* value : values)
    for (auto& each = expected.emplace_back(); const float v : *value) each.push_back({double{v}});
  Random random(5);
  for (std::int64_t step = 1; step <= 5; ++step) {
    const double lr = 0.01 * step;
    double squares = 0;
    for (std::size_t p = 0; p < values.size(); ++p) {
      const bool bias = p % 2 == 1;
      const std::size_t size = values[p]->size();
      for (std::size_t i = 0; i < size; ++i) {
        double gradient = 0;
        for (std::size_t s = 0; s < kSlices; ++s) {
          const auto part = static_cast<float>(random.normal());
          (*gradients[p])[s * size + i] = part;
          gradient += double{part};
        }
        squares += gradient * gradient;
        expected[p][i].step(options, 0.25 * gradient, lr, bias ? 0 : options.learning.weight_decay, step);
      }
    }
    const double norm = combine_gradients(layers);
    EXPECT_NEAR(norm, std::sqrt(squares), 1e-6 * std::sqrt(squares));
    update(layers, descent_rates(options, lr, 0.25, step));
    for (std::size_t p = 0; p < values.size(); ++p) {
      for (std::size_t i = 0; i < values[p]->size(); ++i)
        ASSERT_NEAR((*values[p])[i], expected[p][i].value, bound) << "step " << step;
      EXPECT_EQ(*gradients[p], std::vector<float>(gradients[p]->size(), 0.0f)) << "gradients are cleared";
    }
    EXPECT_EQ(to_csr(layers[1].transposed, layers[1].transposed_value),
              transpose(to_csr(layers[1].pattern, layers[1].value).view()));
  }
}

TEST(Optimizer, FollowsItsFormula) {
  TrainOptions options;
  options.network.neurons = {23, 31, 7};
  options.network.sparsity = 0.4;
  options.learning.beta1 =
      0.75;  // 1 - beta is exact in float: what is left is the rounding of a few operations
  options.learning.beta2 = 0.875;
  for (const Optimizer optimizer :
       {Optimizer::sgd, Optimizer::nesterov, Optimizer::adam, Optimizer::adamw, Optimizer::lion}) {
    for (const double decay : {0.0, 0.3}) {
      options.learning.optimizer = optimizer;
      options.learning.weight_decay = decay;
      check_optimizer(options, 2e-6);  // 5 steps of 3 roundings of values below 4, u = 6e-8
    }
  }
}

TEST(Optimizer, TakesTheUsualRatesOfAdam) {
  TrainOptions options;
  options.network.neurons = {23, 31, 7};
  options.network.sparsity = 0.4;
  options.learning.weight_decay = 0.01;
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::adamw}) {
    options.learning.optimizer = optimizer;
    check_optimizer(options, 2e-5);  // 1 - 0.999 has five digits in float, and a step is at most lr
  }
}

TEST(Optimizer, ShrinksWeightsButNoBiases) {
  TrainOptions options;
  options.network.neurons = {8, 8, 8};
  options.network.sparsity = 0;
  options.learning.weight_decay = 0.5;
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::nesterov, Optimizer::adamw, Optimizer::lion}) {
    options.learning.optimizer = optimizer;
    auto layers = network(options);
    const auto before = layers;
    combine_gradients(layers);
    update(layers, descent_rates(options, 0.1, 1, 1));
    EXPECT_EQ(layers[0].bias, before[0].bias);
    const double factor = optimizer == Optimizer::nesterov ? 1 - 0.1 * 0.5 * 1.9 : 1 - 0.1 * 0.5;
    EXPECT_NEAR(layers[0].value[0], before[0].value[0] * factor, 1e-6);
  }
}

TEST(Optimizer, GivesTheSameBitsForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  TrainOptions options;
  options.network.neurons = {200, 300, 200, 10};
  options.network.sparsity = 0.4;
  options.learning.optimizer = Optimizer::adam;
  const auto run = [&](int threads) {
    set_threads(threads);
    auto layers = network(options);
    Random random(6);
    double norm = 0;
    for (std::int64_t step = 1; step <= 2; ++step) {
      for (TrainLayer& layer : layers) {
        for (float& g : layer.gradient) g = random.normal();
        for (float& g : layer.bias_gradient) g = random.normal();
      }
      norm = combine_gradients(layers);
      update(layers, descent_rates(options, 0.1, 0.5, step));
    }
    auto result = all_bits(layers);
    result.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(norm)));
    for (const float value : layers[1].transposed_value)
      result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
  };
  const auto expected = run(1);
  EXPECT_EQ(run(2), expected);
  EXPECT_EQ(run(5), expected);
}

}  // namespace
}  // namespace filigree::internal
