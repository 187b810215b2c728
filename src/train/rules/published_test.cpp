// SPDX-License-Identifier: Apache-2.0
// Tests of rules from the literature: SNFS and GraNet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sparse/test_errors.h"
#include "train/rules/budget.h"
#include "train/rules/test_evolving.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

TrainOptions three_layers(Evolve rule) {
  TrainOptions options;
  options.network.neurons = {40, 30, 20, 10};
  options.network.sparsity = 0.6;
  options.network.distribution = Distribution::uniform;
  options.evolution.rule = rule;
  options.evolution.free_lost = false;
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = 0.25;
  return options;
}

TEST(EvolveSnfs, GivesLayersWhatTheirMeanMomentumSays) {
  Evolving setup(three_layers(Evolve::snfs), false, 3);
  // Momentum of 3, 0 and 1 a connection: three quarters, nothing, a quarter of what grows.
  const float momentum[] = {3, 0, 1};
  for (std::size_t l = 0; l < 3; ++l)
    for (std::size_t e = 0; e < setup.layers[l].first.size(); ++e)
      setup.layers[l].first[e] = e % 2 == 0 ? momentum[l] : -momentum[l];
  const Evolution evolution = setup.run({10, 100, 0.1});
  const std::vector<Change> all = changes(setup);
  std::size_t dropped = 0;
  for (std::size_t l = 0; l < 3; ++l) {
    EXPECT_EQ(all[l].dropped.size(), share_of(0.25, all[l].before.size())) << "each layer drops its share";
    dropped += all[l].dropped.size();
    float largest_gone = 0, smallest_kept = 1e9f;
    for (const auto& [place, weight] : all[l].dropped)
      largest_gone = std::max(largest_gone, std::fabs(weight.value));
    for (const auto& [place, weight] : all[l].kept)
      smallest_kept = std::min(smallest_kept, std::fabs(weight.value));
    EXPECT_LE(largest_gone, smallest_kept);
  }
  EXPECT_EQ(evolution.dropped, static_cast<Offset>(dropped));
  EXPECT_EQ(evolution.grown, evolution.dropped);
  EXPECT_EQ(all[0].grown.size(), share_of(0.75, dropped));
  EXPECT_EQ(all[1].grown.size(), 0u);
  EXPECT_EQ(all[2].grown.size(), dropped - share_of(0.75, dropped));
  // What grew in the first layer are the largest gradients among the places that were free.
  const RecordedGrowth growth(setup.before, *setup.record, setup.data);
  TrainLayer kept = setup.before[0];
  Keep keep(kept.connections(), 1);
  for (const Link& link : links(kept)) keep[link.entry] = all[0].kept.contains({link.output, link.input});
  std::size_t found = 0;
  for (const Candidate& best : growth.largest(0, kept_pattern(kept, keep), all[0].grown.size(), {}))
    found +=
        all[0].grown.contains(kept.by_input ? Place{best.column, best.row} : Place{best.row, best.column});
  EXPECT_EQ(found, all[0].grown.size());
}

TEST(EvolveSnfs, NeedsMomentum) {
  const Dataset data = random_data(Kind::floats, 60, 40, 10, 3);
  TrainOptions options = three_layers(Evolve::snfs);
  options.learning.optimizer = Optimizer::sgd;
  EXPECT_NE(error_of([&] { Training(data, options); }).find("sgd has none"), std::string::npos);
}

TEST(EvolveGranet, PrunesAlongACubicCurveAndRegrowsInEachLayer) {
  TrainOptions options = three_layers(Evolve::granet);
  options.evolution.final_sparsity = 0.9;
  options.evolution.update_every = 10;
  Evolving setup(options, false, 5);
  Random random(6);
  const double all = 40 * 30 + 30 * 20 + 20 * 10, first = all * 0.4, last = all * 0.1;
  for (const std::int64_t step : {10, 20, 30, 60, 100}) {
    for (TrainLayer& layer : setup.layers)  // as training would
      for (float& value : layer.value) value = random.normal();
    const std::size_t before = connections(setup.layers);
    const Evolution evolution = setup.run({step, 101, 0.1});
    const double left = 1 - static_cast<double>(step) / 100;
    EXPECT_EQ(connections(setup.layers),
              static_cast<std::size_t>(std::llround(last + (first - last) * left * left * left)));
    EXPECT_EQ(before - connections(setup.layers),
              static_cast<std::size_t>(evolution.dropped - evolution.grown));
    const std::vector<Change> change = changes(setup);
    std::size_t regrown = 0;
    for (std::size_t l = 0; l < 3; ++l) {
      // A quarter of what pruning left a layer is new.
      EXPECT_EQ(change[l].grown.size(), share_of(0.25, change[l].after.size())) << step << " " << l;
      regrown += change[l].grown.size();
    }
    EXPECT_EQ(static_cast<Offset>(regrown), evolution.grown);
  }
}

TEST(EvolveGranet, NeedsAHigherSparsityToReach) {
  const Dataset data = random_data(Kind::floats, 60, 40, 10, 3);
  TrainOptions options = three_layers(Evolve::granet);
  EXPECT_NE(error_of([&] { Training(data, options); }).find("not given"), std::string::npos);
  options.evolution.final_sparsity = 0.5;
  EXPECT_NE(error_of([&] { Training(data, options); }).find("that is 0.5"), std::string::npos);
}

TEST(PublishedRules, LearnAndResumeBitByBit) {
  const Dataset data = separable_data(Kind::floats, 300, 3, 4);
  for (const Evolve rule : {Evolve::snfs, Evolve::granet}) {
    TrainOptions options;
    options.network.neurons = {data.train.features, 30, 20, data.classes};
    options.network.sparsity = 0.5;
    options.evolution.rule = rule;
    options.evolution.final_sparsity = rule == Evolve::granet ? 0.8 : -1;
    options.evolution.growth_batches = 3;
    options.run.epochs = 8;
    options.run.batch = 32;
    options.evolution.update_every = 5;
    const TrainOutcome whole = run_training(data, options, {}, {});
    EXPECT_GT(whole.test_score, 0.9) << word(rule);
    Training first(data, options);
    first.epoch();
    first.epoch();
    Training rest(data, first.state());
    while (!rest.done()) rest.epoch();
    EXPECT_EQ(copied_layers(network_of(rest.state())), copied_layers(network_of(whole.state))) << word(rule);
  }
}

}  // namespace
}  // namespace filigree::internal
