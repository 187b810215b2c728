// SPDX-License-Identifier: Apache-2.0
// Tests of the network before the first step: how many connections, where they are, what they weigh.
#include "train/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>
#include <set>

#include "sparse/test_errors.h"
#include "train/test_training.h"

namespace filigree::internal {
namespace {

TrainOptions options_for(std::vector<Index> network, double sparsity,
                         Distribution distribution = Distribution::er) {
  TrainOptions options;
  options.network.neurons = std::move(network);
  options.network.sparsity = sparsity;
  options.network.distribution = distribution;
  return options;
}

std::vector<Offset> weights_of(const std::vector<Index>& network) {
  std::vector<Offset> weights;
  for (std::size_t l = 0; l + 1 < network.size(); ++l) weights.push_back(Offset{network[l]} * network[l + 1]);
  return weights;
}

Offset sum(const std::vector<Offset>& values) {
  return std::accumulate(values.begin(), values.end(), Offset{0});
}

TEST(Topology, AddsUpWhereTheShareIsHalfAConnection) {
  // 0.805 of 722 + 1178 weights: 1529.5, and a little less if the layers' shares are added up.
  for (const Distribution distribution : {Distribution::er, Distribution::uniform})
    EXPECT_EQ(sum(connections_per_layer(options_for({19, 38, 31}, 0.195, distribution))),
              std::llround(1900 * (1 - 0.195)));
}

TEST(Topology, AddsUpToTheShareOfAllWeightsThatTheSparsityLeaves) {
  EXPECT_TRUE(rc::check([] {
    const auto network = *rc::gen::container<std::vector<Index>>(
        static_cast<std::size_t>(*rc::gen::inRange(2, 7)), rc::gen::inRange<Index>(8, 200));
    const double sparsity = *rc::gen::inRange(0, 900) / 1000.0;
    for (const Distribution distribution : {Distribution::er, Distribution::uniform}) {
      const TrainOptions options = options_for(network, sparsity, distribution);
      const auto weights = weights_of(network);
      const auto counts = connections_per_layer(options);
      RC_ASSERT(counts.size() == weights.size());
      RC_ASSERT(sum(counts) == std::llround(sum(weights) * (1 - sparsity)));
      for (std::size_t l = 0; l < counts.size(); ++l) {
        RC_ASSERT(counts[l] > 0 && counts[l] <= weights[l]);
        // Rounding the running sum moves a layer's share by less than one.
        if (distribution == Distribution::uniform)
          RC_ASSERT(std::fabs(counts[l] - weights[l] * (1 - sparsity)) < 1 + 1e-6);
      }
    }
  }));
}

TEST(Topology, SharesInProportionToInputsAndOutputs) {
  // 784 + 256 : 256 + 256 : 256 + 10 of a twentieth of 200,704 + 65,536 + 2,560 weights
  const auto counts = connections_per_layer(options_for({784, 256, 256, 10}, 0.95));
  EXPECT_EQ(sum(counts), 13440);
  const double ends = 1040 + 512 + 266;
  EXPECT_NEAR(static_cast<double>(counts[0]), 13440 * 1040 / ends, 1);
  EXPECT_NEAR(static_cast<double>(counts[1]), 13440 * 512 / ends, 1);
}

TEST(Topology, FillsSmallLayersAndSharesTheRestAmongTheOthers) {
  const auto counts = connections_per_layer(options_for({100, 2, 3, 100}, 0.4));
  // Shares of 0.6 · 506 = 304 by 102 : 5 : 103. The middle layer's 7.2 become 6; the other two share 298.
  EXPECT_EQ(counts[1], 6);
  EXPECT_EQ(sum(counts), 304);
  EXPECT_NEAR(static_cast<double>(counts[0]), 298.0 * 102 / 205, 1);
}

TEST(Topology, IsFullWithoutSparsity) {
  for (const Distribution distribution : {Distribution::er, Distribution::uniform})
    EXPECT_EQ(connections_per_layer(options_for({30, 17, 5, 3}, 0, distribution)),
              (std::vector<Offset>{510, 85, 15}));
}

TEST(Topology, TakesDensitiesOfEachLayer) {
  TrainOptions options = options_for({30, 20, 10}, 0.9, Distribution::densities);
  options.network.densities = {0.5, 1};
  EXPECT_EQ(connections_per_layer(options), (std::vector<Offset>{300, 200}));
}

TEST(Topology, NamesTheLayerThatASparsityLeavesEmpty) {
  const std::string error = error_of([] {
    connections_per_layer(options_for({1000, 1000, 2, 2}, 0.99999, Distribution::uniform));
  });
  EXPECT_NE(error.find("0.99999"), std::string::npos) << error;
  EXPECT_NE(error.find("layer 2 (1000 to 2 neurons)"), std::string::npos) << error;
}

// Each output's inputs, ascending.
std::vector<std::vector<std::size_t>> inputs_by_output(const TrainLayer& layer) {
  std::vector<std::vector<std::size_t>> inputs(layer.outputs);
  for (const Link& link : links(layer)) inputs[link.output].push_back(link.input);
  for (auto& each : inputs) std::sort(each.begin(), each.end());
  return inputs;
}

TEST(Topology, SpreadsConnectionsEvenlyOverOutputsAndOverTheInputsOfEach) {
  for (const bool sparse_inputs : {false, true}) {
    for (const double sparsity : {0.0, 0.35, 0.8, 0.97}) {
      const auto layers = make_layers(options_for({97, 61, 40}, sparsity), sparse_inputs, 1);
      for (const TrainLayer& layer : layers) {
        const auto inputs = inputs_by_output(layer);
        std::size_t least = ~std::size_t{0}, most = 0;
        for (const auto& each : inputs) {
          least = std::min(least, each.size());
          most = std::max(most, each.size());
          for (std::size_t i = 0; i < each.size(); ++i) {  // range i of as many equal ones
            EXPECT_GE(each[i], i * static_cast<std::size_t>(layer.inputs) / each.size());
            EXPECT_LT(each[i], (i + 1) * static_cast<std::size_t>(layer.inputs) / each.size());
          }
        }
        EXPECT_LE(most - least, 1u);
      }
    }
  }
}

TEST(Topology, MakesSoundLayersOfEveryKind) {
  for (const bool sparse_inputs : {false, true}) {
    for (const bool dense : {false, true}) {
      TrainOptions options = options_for({20, 15, 12, 5}, 0.5);
      options.network.dense = dense;
      options.learning.optimizer = Optimizer::adam;
      options.evolution.threshold = 0.25;
      const auto layers = make_layers(options, sparse_inputs, 3);
      const auto counts = connections_per_layer(options);
      ASSERT_EQ(layers.size(), 3u);
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const TrainLayer& layer = layers[l];
        EXPECT_EQ(layer.inputs, options.network.neurons[l]);
        EXPECT_EQ(layer.outputs, options.network.neurons[l + 1]);
        EXPECT_EQ(layer.dense, dense);
        EXPECT_EQ(layer.by_input, !dense && (sparse_inputs || l > 0));
        EXPECT_EQ(layer.connections(), dense ? layer.capacity() : static_cast<std::size_t>(counts[l]));
        EXPECT_EQ(layer.gradient.size(), 3 * layer.connections());
        EXPECT_EQ(layer.bias_gradient.size(), 3 * layer.bias.size());
        EXPECT_EQ(layer.first, std::vector<float>(layer.connections(), 0.0f));
        EXPECT_EQ(layer.second, std::vector<float>(layer.connections(), 0.0f));
        EXPECT_EQ(layer.bias, std::vector<float>(static_cast<std::size_t>(layer.outputs), 0.0f));
        EXPECT_EQ(layer.threshold, 0.25);
        if (dense) continue;
        validate(layer.pattern, "layer");
        if (l == 0) {
          EXPECT_EQ(layer.transposed.rows, 0);
          continue;
        }
        EXPECT_EQ(layer.transposed, transpose(layer.pattern));
        EXPECT_EQ(to_csr(layer.transposed, layer.transposed_value),
                  transpose(to_csr(layer.pattern, layer.value).view()));
      }
      EXPECT_TRUE(layers.back().activation.is(Activation::identity));
    }
  }
}

TEST(Topology, GivesLayersTheirActivations) {
  TrainOptions options = options_for({8, 8, 8, 8, 4}, 0);
  options.network.slope = 0.25;
  const auto activations = [&](HiddenActivation activation) {
    options.network.activation = activation;
    std::vector<ActivationFunction> all;
    for (const TrainLayer& layer : make_layers(options, false, 1)) all.push_back(layer.activation);
    all.pop_back();
    return all;
  };
  using All = std::vector<ActivationFunction>;
  const auto leaky = [](float slope) { return ActivationFunction::leaky(slope); };
  EXPECT_EQ(activations(HiddenActivation::relu), (All(3, Activation::relu)));
  EXPECT_EQ(activations(HiddenActivation::leaky_relu), (All(3, leaky(0.25f))));
  EXPECT_EQ(activations(HiddenActivation::all_relu), (All{leaky(0.25f), leaky(-0.25f), leaky(0.25f)}));
  EXPECT_EQ(activations(HiddenActivation::sigmoid), (All(3, Activation::sigmoid)));
  EXPECT_EQ(activations(HiddenActivation::tanh), (All(3, Activation::tanh)));
  EXPECT_EQ(activations(HiddenActivation::softplus), (All(3, Activation::softplus)));
  options.learning.loss = Loss::mse;
  EXPECT_TRUE(make_layers(options, false, 1).back().activation.is(Activation::sigmoid));
}

// Is the mean square of the values, each divided by its deviation, 1 within 5 standard deviations (of the
// mean of n squares of normal numbers: the root of 2 / n), and their mean 0?
void expect_deviation(const TrainLayer& layer, const std::vector<double>& deviation_of_output) {
  double squares = 0, mean = 0;
  const double n = layer.connections();
  for (const Link& link : links(layer)) {
    const double value = double{layer.value[link.entry]} / deviation_of_output[link.output];
    squares += value * value / n;
    mean += value / n;
  }
  EXPECT_NEAR(squares, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(n));
}

TEST(Topology, DrawsWeightsWithTheDeviationOfTheirKind) {
  for (const bool sparse_inputs : {false, true}) {
    for (const bool dense : {false, true}) {
      TrainOptions options = options_for({300, 401, 10}, 0.7, Distribution::uniform);
      options.network.dense = dense;
      const double density = dense ? 1 : 0.3;
      const auto outputs = std::size_t{401};
      options.network.init = Initial::he;
      const auto layer = make_layers(options, sparse_inputs, 1).front();
      std::vector<double> by_fan_in;
      for (const auto& inputs : inputs_by_output(layer)) by_fan_in.push_back(std::sqrt(2.0 / inputs.size()));
      expect_deviation(layer, by_fan_in);
      options.network.init = Initial::glorot;
      expect_deviation(make_layers(options, sparse_inputs, 1).front(),
                       std::vector<double>(outputs, std::sqrt(2 / (701 * density))));
      options.network.init = Initial::ertl;
      expect_deviation(make_layers(options, sparse_inputs, 1).front(),
                       std::vector<double>(outputs, 2 / std::sqrt(701 * density)));
    }
  }
}

TEST(Topology, GivesHeWeightsByTheInputsThatExist) {
  // 2 or 3 inputs an output: were the mean fan-in used, the two groups would not differ.
  TrainOptions options = options_for({400, 20000, 2}, 0, Distribution::densities);
  options.network.densities = {2.5 / 400, 1};
  const auto layer = make_layers(options, false, 1).front();
  double squares[4] = {}, count[4] = {};
  const auto inputs = inputs_by_output(layer);
  for (const Link& link : links(layer)) {
    squares[inputs[link.output].size()] += double{layer.value[link.entry]} * layer.value[link.entry];
    ++count[inputs[link.output].size()];
  }
  EXPECT_NEAR(squares[2] / count[2], 1, 5 * std::sqrt(2 / count[2]));
  EXPECT_NEAR(squares[3] / count[3], 2.0 / 3, 2.0 / 3 * 5 * std::sqrt(2 / count[3]));
}

TEST(Topology, FollowsFromTheSeed) {
  TrainOptions options = options_for({50, 40, 10}, 0.6);
  const auto network = make_layers(options, false, 1);
  EXPECT_EQ(all_bits(make_layers(options, false, 1)), all_bits(network));
  options.run.seed = 2;
  const auto other = make_layers(options, false, 1);
  EXPECT_NE(other[0].pattern, network[0].pattern);
  EXPECT_NE(other[0].value, network[0].value);
  options.network.dense = true;
  const auto dense = make_layers(options, false, 1);
  options.run.seed = 1;
  EXPECT_NE(make_layers(options, false, 1)[0].value, dense[0].value);
}

TEST(Topology, PlacesLayersOfOneShapeDifferently) {
  const auto layers = make_layers(options_for({40, 40, 40}, 0.5), false, 1);
  EXPECT_NE(layers[0].pattern, layers[1].pattern);
  EXPECT_NE(layers[0].value, layers[1].value);
}

TEST(Topology, RefusesLayersWhoseNeuronsConnectionsCannotName) {
  // Connections know inputs, and backward also outputs, by 16 bits.
  for (const auto& network : {std::vector<Index>{65537, 2, 2}, {2, 65537, 2}, {2, 2, 65537}})
    EXPECT_NE(error_of([&] { make_layers(options_for(network, 0.5), false, 1); }).find("65537"),
              std::string::npos)
        << network[0] << "-" << network[1] << "-" << network[2];
  EXPECT_EQ(error_of([] { make_layers(options_for({2, 65537}, 0.5), false, 1); }), "");
  EXPECT_EQ(error_of([] { make_layers(options_for({70000, 2, 2}, 0.5), true, 1); }), "");
  EXPECT_NE(error_of([] { make_layers(options_for({2, 65537, 2}, 0.5), true, 1); }), "");
}

}  // namespace
}  // namespace filigree::internal
