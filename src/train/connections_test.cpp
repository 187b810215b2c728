// SPDX-License-Identifier: Apache-2.0
// Tests of neurons that lost their inputs or consumers.
#include "train/connections.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "train/rules/test_evolving.h"

namespace filigree::internal {
namespace {

// 3 inputs, 3 hidden neurons, 2 outputs. Hidden neuron 0 is sound, 1 has no input, 2 no reader.
std::vector<TrainLayer> with_lost_neurons() {
  std::vector<TrainLayer> layers;
  layers.push_back(hand_layer(3, 3, {{0, 0, 1}, {0, 2, -1}, {2, 1, 5}}, {0.1f, 0.5f, 0.2f}, false));
  layers.push_back(hand_layer(3, 2, {{0, 0, 2}, {0, 1, 4}, {1, 1, -6}}, {1, 2}, true));
  layers.back().activation = Activation::identity;
  for (TrainLayer& layer : layers) resize_state(layer, Optimizer::sgd, 1);
  return layers;
}

TrainOptions nothing_but_lost() {
  TrainOptions options;
  options.evolution.rule = Evolve::rigl;
  options.learning.optimizer = Optimizer::sgd;
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = 0;
  return options;
}

TEST(LostNeurons, GiveTheirConnectionsBackAndTheirConstantToTheirReaders) {
  TrainOptions options = nothing_but_lost();
  options.network.neurons = {3, 3, 2};
  auto layers = with_lost_neurons();
  EXPECT_EQ(count_dead(layers), 2);
  const DataRows data;
  const Record record = random_record(layers, 32, 1, 8);
  const Evolution evolution = evolve_on(layers, options, record, data);
  EXPECT_EQ(evolution.dropped, 3);
  EXPECT_EQ(evolution.grown, 3);
  EXPECT_EQ(layers[1].bias, (std::vector<float>{1 + 4 * 0.5f, 2 - 6 * 0.5f}));
  EXPECT_EQ(layers[0].bias, (std::vector<float>{0.1f, 0.5f, 0.2f}));
  EXPECT_EQ(layers[0].connections(), 3u);
  EXPECT_EQ(layers[1].connections(), 3u);
  EXPECT_EQ((weights_of(layers[0])[{0, 0}].value), 1.0f);
  EXPECT_EQ((weights_of(layers[0])[{0, 2}].value), -1.0f);
  EXPECT_EQ((weights_of(layers[1])[{0, 0}].value), 2.0f);
}

TEST(LostNeurons, StayAsTheyAreUnlessTheyAreToBeFreed) {
  TrainOptions options = nothing_but_lost();
  options.network.neurons = {3, 3, 2};
  options.evolution.free_lost = false;
  auto layers = with_lost_neurons();
  const auto before = all_bits(layers);
  const DataRows data;
  const Record record = random_record(layers, 32, 1, 9);
  EXPECT_EQ(evolve_on(layers, options, record, data).dropped, 0);
  EXPECT_EQ(all_bits(layers), before);
}

TEST(LostNeurons, AreAPartOfWhatIsToBeDropped) {
  TrainOptions options = nothing_but_lost();
  options.network.neurons = {3, 3, 2};
  options.evolution.drop_fraction = 2.0 / 3;
  auto layers = with_lost_neurons();
  const DataRows data;
  const Record record = random_record(layers, 32, 1, 10);
  // First layer: one is lost, one more goes. Second: two are lost, and that is the share.
  EXPECT_EQ(evolve_on(layers, options, record, data).dropped, 4);
  EXPECT_EQ((weights_of(layers[1])[{0, 0}].value), 2.0f);
}

TEST(LostNeurons, ChangeNothingOfWhatTheNetworkDoes) {
  EXPECT_TRUE(rc::check([] {
    TrainOptions options = any_options();
    options.evolution.rule = Evolve::rigl;  // what grows weighs nothing
    options.evolution.free_lost = true;
    options.evolution.drop_fraction = 0;
    options.network.sparsity = *rc::gen::element(0.8, 0.9);
    options.network.activation =
        *rc::gen::element(HiddenActivation::relu, HiddenActivation::all_relu, HiddenActivation::sigmoid,
                          HiddenActivation::tanh, HiddenActivation::softplus);
    options.network.neurons = *rc::gen::container<std::vector<Index>>(
        static_cast<std::size_t>(*rc::gen::inRange(3, 7)), rc::gen::inRange<Index>(5, 16));
    Evolving setup = any_network(options);
    setup.run(any_moment());
    const auto before = in_double(setup.before), after = in_double(setup.layers);
    Random random(11);
    for (int sample = 0; sample < 5; ++sample) {
      std::vector<double> x;
      for (Index i = 0; i < options.network.neurons.front(); ++i) x.push_back(random.normal());
      const auto expected = outputs_of(before, x), actual = outputs_of(after, x);
      for (std::size_t o = 0; o < expected.size(); ++o)
        RC_ASSERT(std::fabs(actual[o] - expected[o]) <= 1e-4 * (1 + std::fabs(expected[o])));
    }
  }));
}

TEST(LostNeurons, TakeThoseWithThemThatOnlyLedToThemOrOnlyLivedOnThem) {
  // A chain of one neuron a layer besides the sound one: 1 has no input, so what it feeds is constant too.
  TrainOptions options = nothing_but_lost();
  options.network.neurons = {2, 2, 2, 1};
  std::vector<TrainLayer> layers;
  layers.push_back(hand_layer(2, 2, {{0, 0, 1}}, {0, 1}, false));
  layers.push_back(hand_layer(2, 2, {{0, 0, 1}, {1, 1, 3}}, {0, -1}, true));
  layers.push_back(hand_layer(2, 1, {{0, 0, 1}, {0, 1, 10}}, {0.5f}, true));
  layers.back().activation = Activation::identity;
  for (TrainLayer& layer : layers) resize_state(layer, Optimizer::sgd, 1);
  const DataRows data;
  const Record record = random_record(layers, 32, 1, 12);
  EXPECT_EQ(evolve_on(layers, options, record, data).dropped, 2);
  EXPECT_EQ(layers[1].bias[1], 2.0f);   // -1 + 3 · 1
  EXPECT_EQ(layers[2].bias[0], 20.5f);  // 0.5 + 10 · 2

  // And upwards: the second layer's neuron 1 has no reader, so the first layer's neuron 1 leads nowhere.
  layers.clear();
  layers.push_back(hand_layer(2, 2, {{0, 0, 1}, {1, 1, 1}}, {0, 1}, false));
  layers.push_back(hand_layer(2, 2, {{0, 0, 1}, {1, 1, 3}}, {0, -1}, true));
  layers.push_back(hand_layer(2, 1, {{0, 0, 1}}, {0.5f}, true));
  for (TrainLayer& layer : layers) resize_state(layer, Optimizer::sgd, 1);
  const Record second = random_record(layers, 32, 1, 13);
  EXPECT_EQ(count_dead(layers), 1);
  EXPECT_EQ(evolve_on(layers, options, second, data).dropped, 2);
  EXPECT_EQ(layers[1].bias, (std::vector<float>{0, -1}));
}

TEST(LostNeurons, AreThoseToErtlThatNeverCostAnything) {
  TrainOptions options = nothing_but_lost();
  options.network.neurons = {2, 3, 2};
  options.evolution.threshold = 0;
  std::vector<TrainLayer> layers;
  layers.push_back(hand_layer(2, 3, {{0, 0, 1}, {1, 1, 5}, {2, 0, 1}}, {0, -9, 0}, false));
  layers.push_back(hand_layer(3, 2, {{0, 0, 1}, {1, 1, 3}, {1, 2, 1}}, {0, 0}, true));
  for (TrainLayer& layer : layers) resize_state(layer, Optimizer::sgd, 1);
  const DataRows data;
  Record record = random_record(layers, 32, 1, 15);
  for (std::size_t b = 0; b < record.width; ++b) record.layers[0].delta[1 * record.width + b] = 0;
  for (const Evolve method : {Evolve::rigl, Evolve::ertl}) {
    options.evolution.rule = method;
    std::vector<TrainLayer> evolved = layers;
    const Offset dropped = evolve_on(evolved, options, record, data).dropped;
    EXPECT_EQ(dropped, method == Evolve::ertl ? 2 : 0);  // neuron 1 has an input and a reader
    EXPECT_EQ((weights_of(evolved[0])[{0, 0}].value), 1.0f);
    EXPECT_EQ((weights_of(evolved[1])[{1, 2}].value), 1.0f);
  }
}

TEST(CountDead, CountsHiddenNeuronsOfDenseLayersAsAlive) {
  TrainOptions options;
  options.network.neurons = {5, 4, 3};
  options.network.dense = true;
  EXPECT_EQ(count_dead(make_layers(options, false, 1)), 0);
}

}  // namespace
}  // namespace filigree::internal
