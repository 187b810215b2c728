// SPDX-License-Identifier: Apache-2.0
// Tests of evolution: what goes, what comes, what stays as it was, for networks at random and by hand.
#include "train/evolve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "base/random.h"
#include "base/test_threads.h"
#include "train/rules/budget.h"
#include "train/rules/test_evolving.h"

namespace filigree::internal {
namespace {

TEST(Evolve, KeepsTheNumberOfConnectionsAndWhatBelongsToThoseThatStay) {
  EXPECT_TRUE(rc::check([] {
    Evolving setup = any_network(any_options());
    const Moment moment = any_moment();
    for (int round = 0; round < 3; ++round) {
      const Evolution evolution = setup.run(moment);
      RC_ASSERT(connections(setup.layers) == connections(setup.before));
      RC_ASSERT(evolution.dropped == evolution.grown);
      std::size_t grown = 0;
      for (std::size_t l = 0; l < setup.layers.size(); ++l) {
        const TrainLayer& layer = setup.layers[l];
        validate(layer.pattern, "layer");
        const Change change(setup.before[l], layer);
        if (setup.options.evolution.redistribute == Redistribute::layer &&
            setup.options.evolution.rule != Evolve::snfs)
          RC_ASSERT(layer.connections() == setup.before[l].connections());
        for (const auto& [place, weight] : change.grown) {
          RC_ASSERT(weight.first == 0 && weight.second == 0);
          if (setup.options.evolution.rule != Evolve::ertl || weight.value == 0) {
            RC_ASSERT(weight.value == 0);
          } else {
            const GradientAt g = gradient_at(l, *setup.record, setup.data, place.first, place.second);
            RC_ASSERT(std::fabs(weight.value + 0.125 * g.sum) <= 1e-5 * g.magnitude);
          }
        }
        if (round == 0)
          grown += change.grown.size();  // later, a weight of zero may be dropped and grow again
        RC_ASSERT(layer.gradient == std::vector<float>(Evolving::kSlices * layer.connections(), 0.0f));
        RC_ASSERT(layer.bias_first == setup.before[l].bias_first);
        RC_ASSERT(layer.bias_second == setup.before[l].bias_second);
        if (l == 0) continue;
        RC_ASSERT(layer.transposed == transpose(layer.pattern));
        RC_ASSERT(to_csr(layer.transposed, layer.transposed_value) ==
                  transpose(to_csr(layer.pattern, layer.value).view()));
      }
      if (round == 0) RC_ASSERT(evolution.grown == static_cast<Offset>(grown));
      if (!setup.options.evolution.free_lost)
        for (std::size_t l = 0; l < setup.layers.size(); ++l)
          RC_ASSERT(setup.layers[l].bias == setup.before[l].bias);
    }
  }));
}

double largest(const Weights& weights) {
  double most = 0;
  for (const auto& [place, weight] : weights) most = std::max(most, std::fabs(double{weight.value}));
  return most;
}

double smallest(const Weights& weights) {
  double least = 1e300;
  for (const auto& [place, weight] : weights) least = std::min(least, std::fabs(double{weight.value}));
  return least;
}

// Of the places without a kept connection, the largest gradients grow.
void assert_largest_grow(const Evolving& setup, const std::vector<Change>& all, std::size_t first,
                         std::size_t last) {
  double least_grown = 1e300, most_left = 0;
  for (std::size_t l = first; l < last; ++l) {
    const TrainLayer& layer = setup.layers[l];
    for (std::size_t o = 0; o < static_cast<std::size_t>(layer.outputs); ++o) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(layer.inputs); ++i) {
        if (all[l].kept.contains({o, i})) continue;
        const GradientAt g = gradient_at(l, *setup.record, setup.data, o, i);
        const double rounding = 64 * 1.2e-7 * g.magnitude;
        if (all[l].grown.contains({o, i}))
          least_grown = std::min(least_grown, std::fabs(g.sum) + rounding);
        else
          most_left = std::max(most_left, std::fabs(g.sum) - rounding);
      }
    }
  }
  RC_ASSERT(least_grown >= most_left);
}

TEST(EvolveRigl, DropsTheSmallestWeightsOfALayerAndGrowsTheLargestGradients) {
  EXPECT_TRUE(rc::check([] {
    TrainOptions options = any_options();
    options.evolution.rule = Evolve::rigl;
    options.evolution.redistribute = Redistribute::layer;
    options.evolution.free_lost = false;
    Evolving setup = any_network(options);
    setup.run(any_moment());
    const auto all = changes(setup);
    for (std::size_t l = 0; l < all.size(); ++l) {
      const bool full = setup.before[l].connections() == setup.before[l].capacity();
      const auto share =
          std::llround(options.evolution.drop_fraction * static_cast<double>(setup.before[l].connections()));
      RC_ASSERT(static_cast<Offset>(all[l].dropped.size()) == (full ? 0 : share));
      RC_ASSERT(all[l].dropped.empty() || largest(all[l].dropped) <= smallest(all[l].kept));
      assert_largest_grow(setup, all, l, l + 1);
    }
  }));
}

TEST(EvolveRigl, TakesAllLayersTogetherWhenConnectionsMayMove) {
  EXPECT_TRUE(rc::check([] {
    TrainOptions options = any_options();
    options.evolution.rule = Evolve::rigl;
    options.evolution.redistribute = Redistribute::global;
    options.evolution.free_lost = false;
    options.evolution.drop_fraction = std::min(options.evolution.drop_fraction, 0.3);
    Evolving setup = any_network(options);
    setup.run(any_moment());
    const auto all = changes(setup);
    std::size_t dropped = 0;
    double most_dropped = 0, least_kept = 1e300;
    bool spared = false;  // a layer keeps a tenth, whatever its weights
    for (std::size_t l = 0; l < all.size(); ++l) {
      const std::size_t size = all[l].before.size();
      dropped += all[l].dropped.size();
      RC_ASSERT(10 * all[l].kept.size() + 10 > size);
      if (10 * all[l].kept.size() <= size) {
        spared = true;
        continue;
      }
      most_dropped = std::max(most_dropped, largest(all[l].dropped));
      least_kept = std::min(least_kept, smallest(all[l].kept));
    }
    const auto share =
        std::llround(options.evolution.drop_fraction * static_cast<double>(connections(setup.before)));
    if (!spared) RC_ASSERT(static_cast<Offset>(dropped) == share);
    RC_ASSERT(most_dropped <= least_kept);
    assert_largest_grow(setup, all, 0, all.size());
  }));
}

TEST(EvolveRigl, LeavesEachLayerATenthWhenConnectionsMayMove) {
  TrainOptions options;
  options.network.neurons = {20, 20, 20, 20};
  options.network.sparsity = 0.5;
  options.evolution.redistribute = Redistribute::global;
  options.evolution.free_lost = false;
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = 0.5;
  Evolving setup(options, false, 15);
  for (float& value : setup.layers[1].value) value *= 1e-6f;
  setup.run({1, 100, 0.1});
  const Change change = changes(setup)[1];
  EXPECT_EQ(change.kept.size(), change.before.size() / 10);
  EXPECT_LE(largest(change.dropped), smallest(change.kept));
}

TEST(EvolveSet, DropsTheSmallestPositiveAndTheLargestNegativeWeights) {
  EXPECT_TRUE(rc::check([] {
    TrainOptions options = any_options();
    options.evolution.rule = Evolve::set;
    options.evolution.redistribute = Redistribute::layer;
    options.evolution.free_lost = false;
    Evolving setup = any_network(options);
    setup.run(any_moment());
    const auto all = changes(setup);
    for (std::size_t l = 0; l < all.size(); ++l) {
      const Change& change = all[l];
      if (change.before.size() == setup.layers[l].capacity()) continue;
      for (const bool positive : {false, true}) {
        Weights kept, dropped;
        for (const auto& [place, weight] : change.kept)
          if ((weight.value > 0) == positive) kept[place] = weight;
        for (const auto& [place, weight] : change.dropped)
          if ((weight.value > 0) == positive) dropped[place] = weight;
        const double size = kept.size() + dropped.size();
        RC_ASSERT(static_cast<Offset>(dropped.size()) ==
                  std::llround(options.evolution.drop_fraction * size));
        RC_ASSERT(dropped.empty() || largest(dropped) <= smallest(kept));
      }
    }
  }));
}

TEST(EvolveSet, GrowsAnywhere) {
  TrainOptions options;
  options.network.neurons = {30, 30};
  options.network.sparsity = 0.8;
  options.evolution.rule = Evolve::set;
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = 0.5;
  std::vector<int> times(900, 0);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Evolving setup(options, false, seed);
    setup.run({1, 10, 0.1});
    const Change change = changes(setup)[0];
    for (const auto& [place, weight] : change.grown) ++times[place.first * 30 + place.second];
  }
  // 60 · 90 connections on 900 places: 6 each, and with a chance of one in a million more than 20 on one.
  EXPECT_LE(*std::max_element(times.begin(), times.end()), 20);
  EXPECT_LE(std::count(times.begin(), times.end(), 0), 20);  // 900 · exp(-6) = 2.2
}

TEST(EvolveSet, GrowsInProportionToWhatLayersKeptWhenConnectionsMayMove) {
  TrainOptions options;
  options.network.neurons = {40, 40, 40, 10};
  options.network.sparsity = 0.8;
  options.evolution.rule = Evolve::set;
  options.evolution.redistribute = Redistribute::global;
  options.evolution.free_lost = false;
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = 0.4;
  Evolving setup(options, false, 16);
  for (float& value : setup.layers[1].value) value *= 0.1f;  // most of what goes
  setup.run({1, 100, 0.1});
  const auto all = changes(setup);
  double kept = 0, grown = 0;
  for (const Change& change : all) {
    kept += change.kept.size();
    grown += change.grown.size();
  }
  EXPECT_GT(grown, 100);
  for (const Change& change : all)
    EXPECT_NEAR(static_cast<double>(change.grown.size()),
                grown * static_cast<double>(change.kept.size()) / kept, 1);
}

TEST(EvolveErtl, DropsWhatIsBelowTheThresholdAndSteersIt) {
  TrainOptions options;
  options.evolution.rule = Evolve::ertl;
  options.network.neurons = {40, 30, 10};
  options.network.sparsity = 0.5;
  options.evolution.free_lost = false;
  options.evolution.threshold_share = 0.05;
  options.evolution.threshold_factor = 1.25;
  for (const double threshold : {0.0001, 0.05, 0.2}) {
    options.evolution.threshold = threshold;
    Evolving setup(options, false, 3);
    setup.run({10, 100, 0.1});
    const auto all = changes(setup);
    for (std::size_t l = 0; l < all.size(); ++l) {
      std::size_t below = 0;
      for (const auto& [place, weight] : all[l].before) below += std::fabs(weight.value) < threshold;
      const std::size_t size = all[l].before.size();
      EXPECT_EQ(all[l].dropped.size(), std::min(below, size / 2));
      if (!all[l].dropped.empty()) {
        EXPECT_LE(largest(all[l].dropped), smallest(all[l].kept));
      }
      const bool too_many = below > 0.05 * size;
      EXPECT_DOUBLE_EQ(setup.layers[l].threshold, too_many ? threshold / 1.25 : threshold * 1.25);
    }
  }
}

TEST(EvolveErtl, DropsNoMoreThanHalfALayer) {
  TrainOptions options;
  options.evolution.rule = Evolve::ertl;
  options.network.neurons = {40, 30, 10};
  options.network.sparsity = 0.5;
  options.evolution.free_lost = false;
  options.evolution.threshold = 1e9;
  Evolving setup(options, false, 4);
  setup.run({10, 100, 0.1});
  for (const Change& change : changes(setup)) {
    EXPECT_EQ(change.dropped.size(), change.before.size() / 2);
    EXPECT_LE(largest(change.dropped), smallest(change.kept));
  }
}

TEST(EvolveErtl, GrowsToTheCostliestNeurons) {
  TrainOptions options;
  options.evolution.rule = Evolve::ertl;
  options.network.neurons = {40, 30};
  options.network.sparsity = 0.9;
  options.evolution.threshold = 0.2;
  Evolving setup(options, false, 5);
  // Neurons 7 and 11 cost a hundred times as much as the others.
  for (const std::size_t o : {7, 11})
    for (std::size_t b = 0; b < 40; ++b) setup.record->layers[0].delta[o * setup.record->width + b] *= 100;
  setup.run({10, 100, 0.1});
  const Change change = changes(setup)[0];
  ASSERT_GE(change.dropped.size(), 2u);
  ASSERT_LE(change.dropped.size(), 60u);  // what two rows can take
  for (const auto& [place, weight] : change.grown) EXPECT_TRUE(place.first == 7 || place.first == 11);
}

TEST(DropFraction, FollowsItsSchedule) {
  TrainOptions options;
  options.evolution.drop_fraction = 0.4;
  const auto at = [&](DropSchedule schedule, std::int64_t step) {
    options.evolution.drop_schedule = schedule;
    return drop_fraction(options, {step, 80, 0});
  };
  EXPECT_DOUBLE_EQ(at(DropSchedule::constant, 60), 0.4);
  EXPECT_DOUBLE_EQ(at(DropSchedule::linear, 20), 0.3);
  EXPECT_NEAR(at(DropSchedule::linear, 80), 0, 1e-12);
  EXPECT_NEAR(at(DropSchedule::linear, 90), 0, 1e-12);
  EXPECT_DOUBLE_EQ(at(DropSchedule::cosine, 0), 0.4);
  EXPECT_NEAR(at(DropSchedule::cosine, 20), 0.2 * (1 + std::sqrt(0.5)), 1e-12);
  EXPECT_NEAR(at(DropSchedule::cosine, 40), 0.2, 1e-12);
  EXPECT_NEAR(at(DropSchedule::cosine, 80), 0, 1e-12);
}

TEST(FinalSparsity, IsReachedByTheLastEvolutionGrowingAndShrinking) {
  for (const Evolve method : {Evolve::set, Evolve::rigl, Evolve::ertl, Evolve::snfs}) {
    for (const Redistribute redistribute : {Redistribute::layer, Redistribute::global}) {
      for (const double last : {0.3, 0.9, 0.0}) {
        TrainOptions options;
        options.network.neurons = {31, 23, 17, 7};
        options.network.sparsity = 0.6;
        options.evolution.final_sparsity = last;
        options.evolution.rule = method;
        options.evolution.redistribute = redistribute;
        options.evolution.update_every = 10;
        Evolving setup(options, false, 6);
        const double all = 31 * 23 + 23 * 17 + 17 * 7;
        // The topology stays from step 80 on, so step 70 is the last at which it evolves.
        for (std::int64_t step = 10; step < 80; step += 10) {
          setup.run({step, 80, 0.1});
          const double sparsity = 0.6 + (last - 0.6) * step / 70;
          // The start was rounded to whole connections too.
          EXPECT_NEAR(static_cast<double>(connections(setup.layers)), all * (1 - sparsity), 1)
              << word(method) << " " << word(redistribute) << " " << step;
          for (const TrainLayer& layer : setup.layers) validate(layer.pattern, "layer");
        }
        EXPECT_EQ(static_cast<Offset>(connections(setup.layers)), std::llround(all * (1 - last)))
            << word(method) << " " << word(redistribute);
      }
    }
  }
}

TEST(FinalSparsity, StartsFromTheDensitiesThatWereAskedFor) {
  TrainOptions options;
  options.network.neurons = {20, 20, 10};
  options.network.distribution = Distribution::densities;
  options.network.densities = {0.5, 0.5};  // 300 connections, though `sparsity` is 0.9
  options.evolution.final_sparsity = 0.75;
  options.evolution.update_every = 10;
  EXPECT_EQ(wanted_connections(options, {0, 31, 0}), 300);
  EXPECT_EQ(wanted_connections(options, {10, 31, 0}), 250);
  EXPECT_EQ(wanted_connections(options, {30, 31, 0}), 150);
}

TEST(FullLayers, AreLeftAlone) {
  for (const Evolve method : {Evolve::set, Evolve::rigl, Evolve::ertl, Evolve::snfs}) {
    TrainOptions options;
    options.network.neurons = {20, 15, 10};
    options.network.distribution = Distribution::densities;
    options.network.densities = {0.4, 1};
    options.evolution.rule = method;
    options.evolution.threshold = 0.3;
    options.evolution.drop_schedule = DropSchedule::constant;
    Evolving setup(options, false, 7);
    setup.run({10, 100, 0.1});
    EXPECT_FALSE(changes(setup)[0].dropped.empty());
    EXPECT_EQ(setup.layers[1].value, setup.before[1].value);
    EXPECT_EQ(setup.layers[1].pattern, setup.before[1].pattern);
    EXPECT_EQ(setup.layers[1].first, setup.before[1].first);
  }
}

TEST(Evolve, IsTheSameForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  for (const Evolve method : {Evolve::set, Evolve::rigl, Evolve::ertl, Evolve::snfs}) {
    TrainOptions options;
    options.network.neurons = {300, 200, 10};
    options.network.sparsity = 0.8;
    options.evolution.rule = method;
    options.evolution.threshold = 0.05;
    const auto run = [&](int threads) {
      set_threads(threads);
      Evolving setup(options, method == Evolve::rigl, 14);
      setup.run({10, 100, 0.1});
      return all_bits(setup.layers);
    };
    const auto expected = run(1);
    EXPECT_EQ(run(2), expected);
    EXPECT_EQ(run(5), expected);
  }
}

}  // namespace
}  // namespace filigree::internal
