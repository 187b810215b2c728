// SPDX-License-Identifier: Apache-2.0
// Tests of pruning by groups.
#include "train/rules/groups.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <set>

#include "train/test_pruning.h"
#include "train/topology.h"

namespace filigree::internal {
namespace {

TrainOptions grouped(Structure structure, std::vector<Index> network, double sparsity, double target) {
  TrainOptions options = pruning(std::move(network), sparsity, target);
  options.pruning.structure = structure;
  return options;
}

TEST(PruneGroups, TakesWholeNeuronsWithAllTheirConnections) {
  rc::check([] {
    TrainOptions options =
        grouped(Structure::neurons, {*rc::gen::inRange(8, 30), *rc::gen::inRange(8, 30), 15, 4},
                *rc::gen::element(0.0, 0.3), 0.6);
    options.run.seed = *rc::gen::arbitrary<std::uint64_t>();
    const std::vector<TrainLayer> before = make_layers(options, *rc::gen::arbitrary<bool>(), 1);
    std::vector<TrainLayer> layers = before;
    evolve(layers, options, kEnd, nullptr, 1);
    std::vector<std::set<std::size_t>> alive(layers.size() + 1);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      validate(layers[l].pattern, "pattern");
      for (const Link& link : links(layers[l])) {
        alive[l].insert(link.input);
        alive[l + 1].insert(link.output);
      }
    }
    // All connections between neurons that are left, and no other.
    for (std::size_t l = 0; l < layers.size(); ++l) {
      std::size_t expected = 0;
      for (const Link& link : links(before[l]))
        expected +=
            alive[l].contains(link.input) && (l + 1 == layers.size() || alive[l + 1].contains(link.output));
      RC_ASSERT(layers[l].connections() == expected);
      RC_ASSERT(layers[l].connections() > 0u);
    }
    RC_ASSERT(connections(layers) < connections(before));
  });
}

TEST(PruneGroups, TakesBlocksWholeAndTheSmallestFirst) {
  using Place = std::pair<std::size_t, std::size_t>;
  for (const Index side : {4, 8, 16}) {
    TrainOptions options = grouped(Structure::blocks, {70, 50, 40}, 0, 0.7);
    options.pruning.group_size = side;
    std::vector<TrainLayer> layers = make_layers(options, false, 1);
    const std::vector<TrainLayer> before = layers;
    evolve(layers, options, kEnd, nullptr, 1);
    double largest_gone = 0, smallest_left = 1e9;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      const auto block = [&](const Link& link) {
        const std::size_t wide = side;
        return Place(link.output / wide, link.input / wide);
      };
      std::map<Place, std::pair<std::size_t, double>> was;
      std::map<Place, std::size_t> left;
      for (const Link& link : links(before[l])) {
        ++was[block(link)].first;
        was[block(link)].second += std::pow(before[l].value[link.entry], 2);
      }
      for (const Link& link : links(layers[l])) ++left[block(link)];
      for (const auto& [place, count] : left) EXPECT_EQ(count, was[place].first);
      if (left.size() <= static_cast<std::size_t>((40 + side - 1) / side)) continue;  // it keeps what it has
      for (const auto& [place, sizes] : was) {
        const double worth = sizes.second / sizes.first;
        double& bound = left.contains(place) ? smallest_left : largest_gone;
        bound = left.contains(place) ? std::min(bound, worth) : std::max(bound, worth);
      }
    }
    EXPECT_LE(largest_gone, smallest_left) << side;
    const std::size_t wanted = connections(before) * 3 / 10;
    EXPECT_LE(connections(layers), wanted);
    EXPECT_GT(connections(layers) + static_cast<std::size_t>(side * side), wanted);
  }
}

TEST(PruneGroups, LeavesNoMoreThanNOfMTheLargest) {
  for (const auto& [n, m] : {std::pair<Index, Index>{2, 4}, {1, 4}, {4, 8}, {3, 7}}) {
    for (const bool sparse : {false, true}) {
      TrainOptions options = grouped(Structure::n_of_m, {45, 32, 10}, 0, -1);
      options.pruning.group_size = m;
      options.pruning.group_kept = n;
      std::vector<TrainLayer> layers = make_layers(options, sparse, 1);
      const std::vector<TrainLayer> before = layers;
      evolve(layers, options, kEnd, nullptr, 1);
      using Stretches = std::map<std::pair<std::size_t, std::size_t>, std::vector<float>>;
      const auto stretches = [wide = static_cast<std::size_t>(m)](const TrainLayer& layer) {
        Stretches all;
        for (const Link& link : links(layer))
          all[{link.output, link.input / wide}].push_back(std::fabs(layer.value[link.entry]));
        for (auto& [place, sizes] : all) std::sort(sizes.rbegin(), sizes.rend());
        return all;
      };
      for (std::size_t l = 0; l < layers.size(); ++l) {
        Stretches expected = stretches(before[l]);
        for (auto& [place, sizes] : expected)
          sizes.resize(std::min<std::size_t>(sizes.size(), static_cast<std::size_t>(n)));
        EXPECT_EQ(stretches(layers[l]), expected) << n << " of " << m;
      }
    }
  }
}

TEST(PruneGroups, GoesGraduallyToNOfM) {
  TrainOptions options = grouped(Structure::n_of_m, {64, 32, 10}, 0, -1);
  options.pruning.group_size = 8;
  options.pruning.group_kept = 2;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  std::size_t last = connections(layers);
  for (std::int64_t step = 10; step < 1000; step += 10) {
    evolve(layers, options, {step, 1000, 0.1}, nullptr, 1);
    EXPECT_LE(connections(layers), last);
    last = connections(layers);
    EXPECT_GT(last, step == 10 ? 64u * 32 / 2 : 0u);
  }
  EXPECT_EQ(last, (64u * 32 + 32 * 10) / 4);
}

TEST(ShrinkGroups, MultipliesEachGroupByWhatTheGroupLassoSays) {
  // 3-2-2: the hidden neurons are groups of 3 + 2 connections, the inputs of 2.
  TrainOptions options = grouped(Structure::neurons, {3, 2, 2}, 0, 0.5);
  options.pruning.shrink = 2;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  const std::vector<TrainLayer> before = layers;
  const double pull = 0.2;
  shrink_groups(layers, options, 0.1);
  std::vector<double> hidden(2), input(3);
  for (const Link& link : links(before[0])) {
    const double square = std::pow(before[0].value[link.entry], 2);
    hidden[link.output] += square;
    input[link.input] += square;
  }
  for (const Link& link : links(before[1])) hidden[link.input] += std::pow(before[1].value[link.entry], 2);
  const auto factor = [&](double squares, double size) {
    return std::max(0.0, 1 - pull * std::sqrt(size / squares));
  };
  for (const Link& link : links(layers[0]))
    EXPECT_NEAR(layers[0].value[link.entry],
                before[0].value[link.entry] * factor(hidden[link.output], 5) * factor(input[link.input], 2),
                1e-6);
  for (const Link& link : links(layers[1]))
    EXPECT_NEAR(layers[1].value[link.entry], before[1].value[link.entry] * factor(hidden[link.input], 5),
                1e-6);
  shrink_groups(layers, options, 100);  // and all the way to zero, exactly
  for (const TrainLayer& layer : layers)
    for (const float v : layer.value) EXPECT_EQ(v, 0);
}

TEST(ShrinkGroups, TakesTheGroupsThatAreNotWorthTheirTime) {
  // One layer of 4 x 4 blocks that differ in size: a block of weights w takes 16 of the network's 64 ns. It
  // stays if half of its squares, 8 w², are more than the step's share of that, 0.1 · 2 · 16 / 64.
  TrainOptions options = grouped(Structure::blocks, {16, 4}, 0, 0.5);
  options.pruning.group_size = 4;
  options.pruning.time_weight = 2;
  options.pruning.connection_cost = 1;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  const std::vector<float> weights = {0.05f, 0.078f, 0.08f, 0.3f};
  for (const Link& link : links(layers[0])) layers[0].value[link.entry] = weights[link.input / 4];
  shrink_groups(layers, options, 0.1);
  for (const Link& link : links(layers[0]))
    EXPECT_EQ(layers[0].value[link.entry], link.input / 4 < 2 ? 0 : weights[link.input / 4]);
}

TEST(PruneGroups, TakesWhatIsZeroEvenBeyondTheTarget) {
  TrainOptions options = grouped(Structure::blocks, {32, 32}, 0, 0.25);
  options.pruning.group_size = 8;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  for (const Link& link : links(layers[0]))
    if (link.input >= 8) layers[0].value[link.entry] = 0;
  evolve(layers, options, kEnd, nullptr, 1);
  EXPECT_EQ(layers[0].connections(), 8u * 32);
}

TEST(PruneGroups, ComparesNeuronsByWhatTheyTake) {
  // The weights of an input are the smallest, those of a hidden neuron a little larger: which goes depends on
  // what a neuron costs besides its connections.
  struct Case {
    double neuron, input;
    bool input_goes;
  };
  for (const auto& [neuron, input, input_goes] :
       {Case{0, 0, true}, Case{100, 0, false}, Case{100, 200, true}}) {
    TrainOptions options = grouped(Structure::neurons, {4, 4, 2}, 0, 0.15);
    options.pruning.connection_cost = 1;
    options.pruning.neuron_cost = neuron;
    options.pruning.input_cost = input;
    std::vector<TrainLayer> layers = make_layers(options, false, 1);
    for (TrainLayer& layer : layers)
      for (const Link& link : links(layer)) layer.value[link.entry] = 1;
    for (const Link& link : links(layers[0]))
      if (link.input == 0) layers[0].value[link.entry] = 0.9f;
    for (const Link& link : links(layers[0]))
      if (link.output == 0) layers[0].value[link.entry] = 0.95f;
    evolve(layers, options, kEnd, nullptr, 1);
    std::set<std::size_t> inputs, hidden;
    for (const Link& link : links(layers[0])) {
      inputs.insert(link.input);
      hidden.insert(link.output);
    }
    EXPECT_EQ(inputs.contains(0), !input_goes);
    EXPECT_EQ(hidden.contains(0), input_goes);
  }
}

}  // namespace
}  // namespace filigree::internal
