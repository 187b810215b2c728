// SPDX-License-Identifier: Apache-2.0
// Tests of pruning and of runs that go on from a given network.
#include "train/evolve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>

#include "io/test_files.h"
#include "network/test_networks.h"
#include "train/connections.h"
#include "train/rules/budget.h"
#include "train/start.h"
#include "train/test_pruning.h"
#include "train/topology.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

TEST(Prune, FollowsTheCubicScheduleAndEndsAtItsTarget) {
  const TrainOptions options = pruning({40, 30, 20}, 0.2, 0.9);
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  const double all = 40 * 30 + 30 * 20;
  for (std::int64_t step = 10; step < 1000; step += 10) {
    evolve(layers, options, {step, 1000, 0.1}, nullptr, 1);
    const double left = 1 - static_cast<double>(step) / 990;
    const double sparsity = 0.9 + (0.2 - 0.9) * left * left * left;
    EXPECT_NEAR(static_cast<double>(connections(layers)), all * (1 - sparsity), 2) << step;
  }
  EXPECT_EQ(connections(layers), 180u);
}

TEST(Prune, EndsAtItsTargetWhereSomeLayersAreSparserThanThatAlready) {
  // 28-256-256-2 as Erdős and Rényi would: the layers are 37 %, 7 % and 100 % full.
  TrainOptions options = pruning({28, 256, 256, 2}, 0.86, 0.9);
  options.network.distribution = Distribution::er;
  options.pruning.schedule = PruneSchedule::once;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  evolve(layers, options, kEnd, nullptr, 1);
  EXPECT_NEAR(static_cast<double>(connections(layers)), 0.1 * (28 * 256 + 256 * 256 + 512), 1);
}

TEST(Prune, TakesTheSmallestWeightsWhereverTheyAreAndLeavesTheOthersAsTheyWere) {
  rc::check([] {
    TrainOptions options = pruning({*rc::gen::inRange(5, 30), *rc::gen::inRange(5, 30), 4}, 0.1, 0.7);
    options.run.seed = *rc::gen::arbitrary<std::uint64_t>();
    options.pruning.schedule = PruneSchedule::once;
    options.evolution.redistribute = *rc::gen::element(Redistribute::layer, Redistribute::global);
    options.learning.optimizer = *rc::gen::element(Optimizer::sgd, Optimizer::nesterov, Optimizer::adam);
    std::vector<TrainLayer> layers = make_layers(options, *rc::gen::arbitrary<bool>(), 2);
    for (TrainLayer& layer : layers)
      for (std::size_t e = 0; e < layer.first.size(); ++e) layer.first[e] = 2 * layer.value[e];
    const std::vector<TrainLayer> before = layers;
    const Evolution evolution = evolve(layers, options, kEnd, nullptr, 2);
    RC_ASSERT(evolution.grown == 0);
    RC_ASSERT(connections(before) - connections(layers) == static_cast<std::size_t>(evolution.dropped));
    float largest_gone = 0, smallest_left = INFINITY;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      validate(layers[l].pattern, "pattern");
      RC_ASSERT(layers[l].connections() >= static_cast<std::size_t>(4));
      std::vector<float> old(layers[l].capacity(), NAN);
      for (const Link& link : links(before[l]))
        old[link.output * layers[l].inputs + link.input] = before[l].value[link.entry];
      float gone = 0, left = INFINITY;
      for (const Link& link : links(layers[l])) {
        float& was = old[link.output * layers[l].inputs + link.input];
        RC_ASSERT(was == layers[l].value[link.entry]);
        if (!layers[l].first.empty()) RC_ASSERT(layers[l].first[link.entry] == 2 * was);
        left = std::min(left, std::fabs(was));
        was = NAN;
      }
      for (const float was : old)
        if (!std::isnan(was)) gone = std::max(gone, std::fabs(was));
      if (options.evolution.redistribute == Redistribute::layer) RC_ASSERT(gone <= left);
      if (layers[l].connections() > 4) largest_gone = std::max(largest_gone, gone);
      if (layers[l].connections() > 4) smallest_left = std::min(smallest_left, left);
    }
    if (options.evolution.redistribute == Redistribute::global) RC_ASSERT(largest_gone <= smallest_left);
  });
}

TEST(Prune, ByTaylorTakesWhatMattersLeastToTheLoss) {
  TrainOptions options = pruning({10, 8, 4}, 0, 0.5);
  options.pruning.by = PruneBy::taylor;
  options.pruning.schedule = PruneSchedule::once;
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  for (TrainLayer& layer : layers)  // the larger a weight, the less it matters
    for (std::size_t e = 0; e < layer.connections(); ++e)
      layer.gradient[e] = 1 / (layer.value[e] * std::fabs(layer.value[e]));
  float largest = 0;
  for (const TrainLayer& layer : layers)
    for (const float v : layer.value) largest = std::max(largest, std::fabs(v));
  evolve(layers, options, kEnd, nullptr, 1);
  EXPECT_EQ(connections(layers), 56u);
  for (const TrainLayer& layer : layers)
    for (const float v : layer.value) EXPECT_LT(std::fabs(v), largest);
}

TEST(Prune, AtRandomFollowsTheSeed) {
  TrainOptions options = pruning({20, 15, 4}, 0, 0.5);
  options.pruning.by = PruneBy::random;
  const auto pruned = [&](std::uint64_t seed) {
    const std::vector<TrainLayer> start = make_layers(options, false, 1);
    std::vector<TrainLayer> layers = start;
    TrainOptions other = options;
    other.run.seed = seed;
    evolve(layers, other, kEnd, nullptr, 1);
    return layers[0].pattern.column;
  };
  EXPECT_EQ(pruned(1), pruned(1));
  EXPECT_NE(pruned(1), pruned(2));
}

TEST(Prune, RefusesTargetsThatEmptyALayer) {
  TrainOptions options = pruning({20, 15, 4}, 0, 0.99);
  const std::vector<TrainLayer> layers = make_layers(options, false, 1);
  EXPECT_EQ(error_of([&] { kept_connections(layers, options, kEnd); }),
            "a final sparsity of 0.99 leaves 4 connections; 8 are the least");
  options.evolution.redistribute = Redistribute::layer;
  options.evolution.final_sparsity = 0.95;
  EXPECT_EQ(error_of([&] { kept_connections(layers, options, kEnd); }),
            "a final sparsity of 0.95 leaves layer 2 (15 to 4 neurons) 3 connections; 4 are the least");
}

// A network with this many full or half-full layers, as a run leaves it.
Network trained(const Dataset& data, bool dense, Loss loss) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 12, 9, data.classes};
  options.network.dense = dense;
  options.network.sparsity = 0.5;
  options.learning.loss = loss;
  options.run.epochs = 3;
  options.run.batch = 32;
  return network_of(run_training(data, options, {}, {}).state);
}

TEST(StartFrom, GivesTheSameNetworkBack) {
  for (const Kind kind : kKinds) {
    for (const bool dense : {false, true}) {
      for (const Loss loss : {Loss::cross_entropy, Loss::mse}) {
        const Dataset data = separable_data(kind, 120, 3, 1);
        const Network network = trained(data, dense, loss);
        TrainOptions options;
        options.network.dense = dense;
        const TrainState state = start_from(network, data, options);
        EXPECT_EQ(copied_layers(network_of(state)), copied_layers(network));
        EXPECT_EQ(state.options.learning.loss, loss);
        EXPECT_EQ(state.options.network.neurons, (std::vector<Index>{12, 12, 9, 3}));
        if (!dense) {
          const std::vector<Offset> counts = connections_per_layer(state.options);
          for (std::size_t l = 0; l < counts.size(); ++l)
            EXPECT_EQ(counts[l], static_cast<Offset>(state.layers[l].connections()));
        }
      }
    }
  }
}

TEST(StartFrom, PrunesAFullNetworkAndResumesBitByBit) {
  const Dataset data = separable_data(Kind::floats, 200, 3, 1);
  const Network network = trained(data, true, Loss::cross_entropy);
  TrainOptions options;
  options.evolution.rule = Evolve::prune;
  options.evolution.final_sparsity = 0.8;
  options.evolution.redistribute = Redistribute::global;
  options.evolution.update_every = 3;
  options.run.epochs = 6;
  options.run.batch = 32;
  for (const PruneBy by : {PruneBy::magnitude, PruneBy::taylor, PruneBy::random}) {
    for (const PruneSchedule schedule : {PruneSchedule::cubic, PruneSchedule::once}) {
      const TestDirectory dir;
      options.pruning.by = by;
      options.pruning.schedule = schedule;
      RunFiles files{dir / "run"};
      std::stop_source stop;
      TrainObserver observer;
      observer.epoch = [&](const EpochReport& report) {
        if (report.epoch == 2) stop.request_stop();
      };
      const TrainOutcome whole = run_training(data, options, {}, {}, &network);
      observer.stop = stop.get_token();
      EXPECT_THROW(run_training(data, options, files, observer, &network), Cancelled);
      files.resume = true;
      const TrainOptions saved = read_checkpoint(Source(dir / "run" / "checkpoint.safetensors"), {}).options;
      const TrainOutcome rest = run_training(data, saved, files, {});
      EXPECT_EQ(copied_layers(network_of(rest.state)), copied_layers(network_of(whole.state)));
      EXPECT_LE(connections(whole.state.layers), 56u);  // a fifth of 12·12 + 12·9 + 9·3
      EXPECT_GT(whole.test_score, by == PruneBy::random ? 0.5 : 0.9);
    }
  }
}

TEST(StartFrom, RefusesWhatCannotBeTrained) {
  const Dataset data = separable_data(Kind::floats, 60, 3, 1);
  const Network sound = trained(data, false, Loss::cross_entropy);
  const auto refusal = [&](const auto& change, const TrainOptions& options = {}) {
    Pieces pieces = pieces_of(sound);
    change(pieces);
    return error_of([&] { start_from(pieces.network(), data, options); });
  };
  EXPECT_EQ(refusal([](Pieces&) {}), "");
  EXPECT_EQ(refusal([](Pieces& m) { m.layers[1].activation.cap = 6; }),
            "layer 2 is capped at 6, which is not trained");
  EXPECT_EQ(refusal([](Pieces& m) { m.layers[2].activation = Activation::relu; }),
            "the last layer's activation is relu, but cross-entropy is trained with identity");
  EXPECT_EQ(refusal([](Pieces& m) {
              m.facts.output_names = {"1", "2", "3"};
            }),
            "the network's outputs have other names than the 3 classes of separable rows");
  EXPECT_NE(refusal([](Pieces& m) { m.ports.input_of = {0}; }), "");
  TrainOptions dense;
  dense.network.dense = true;
  EXPECT_EQ(refusal([](Pieces&) {}, dense),
            "layer 1 has 60 of 144 connections, but dense training needs all");
}

}  // namespace
}  // namespace filigree::internal
