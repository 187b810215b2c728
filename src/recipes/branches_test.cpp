// SPDX-License-Identifier: Apache-2.0
// Tests of exits and mixtures from training to prediction.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "device/test_emulated.h"
#include "filigree/exits.h"
#include "filigree/filigree.h"
#include "io/test_files.h"
#include "network/test_networks.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

TrainOptions small(std::vector<Index> network, double sparsity) {
  TrainOptions options;
  options.network.neurons = std::move(network);
  options.network.sparsity = sparsity;
  options.run.epochs = 8;
  options.run.batch = 64;
  options.evolution.update_every = 50;
  return options;
}

const Data& digits() {
  static const Data data = load_data({.source = "digits:1500"});
  return data;
}

TrainRun exit_run(const RunDirectory& directory = {}) {
  TrainOptions options = small({784, 64, 64, 64, 10}, 0.8);
  options.network.exits = {1, 2};
  return train(digits(), options, directory);
}

const TrainRun& trained_exits() {
  static const TrainRun run = exit_run();
  return run;
}

TEST(Exits, TradeConnectionsForAccuracy) {
  const TrainRun& run = trained_exits();
  ASSERT_EQ(run.network.exits().size(), 2u);
  EXPECT_EQ(run.network.exits()[0].after, 1);
  EXPECT_EQ(run.network.exits()[1].connections, 64 * 10 / 5);
  const ExitCurve curve = exit_curve(run.network, digits(), {.thresholds = {0.9, 0, 0.6}, .repeat = 1});
  ASSERT_EQ(curve.points.size(), 4u) << "1 is added";
  const Evaluation& whole = curve.points.back().evaluation;
  EXPECT_NEAR(whole.accuracy, run.test_score, 0.004) << "compiled, so rounded differently";
  EXPECT_EQ(whole.rows_by_exit, (std::vector<Offset>{0, 0, 300}));
  Offset chain = 0;
  for (Index l = 0; l < run.network.layers(); ++l) chain += layer_info(run.network, l).connections;
  EXPECT_LE(whole.connections_per_row, static_cast<double>(chain));
  for (std::size_t p = 0; p + 1 < curve.points.size(); ++p) {
    const Evaluation& e = curve.points[p].evaluation;
    EXPECT_EQ(std::accumulate(e.rows_by_exit.begin(), e.rows_by_exit.end(), Offset{0}), 300);
    if (p > 0) {
      EXPECT_GE(e.connections_per_row, curve.points[p - 1].evaluation.connections_per_row);
    }
  }
  const Evaluation& first = curve.points[0].evaluation;  // threshold 0: everybody leaves by the first exit
  EXPECT_EQ(first.rows_by_exit, (std::vector<Offset>{300, 0, 0}));
  EXPECT_EQ(first.connections_per_row,
            static_cast<double>(layer_info(run.network, 0).connections + run.network.exits()[0].connections));
  EXPECT_GT(first.accuracy, 0.6) << "heads are trained";
  const Evaluation& sure = curve.points[2].evaluation;  // 0.9
  EXPECT_GT(sure.accuracy, whole.accuracy - 0.03);
  EXPECT_LT(sure.connections_per_row, 0.9 * static_cast<double>(chain));
}

TEST(Exits, AreKeptInModelFilesAndByRunsThatGoOn) {
  const TestDirectory directory;
  save(trained_exits().network, directory / "model.safetensors");
  const Network back = load(directory / "model.safetensors");
  ASSERT_EQ(back.parts().exits.size(), 2u);
  for (std::size_t e = 0; e < 2; ++e) {
    EXPECT_EQ(back.parts().exits[e].after, trained_exits().network.parts().exits[e].after);
    EXPECT_EQ(back.parts().exits[e].layer, trained_exits().network.parts().exits[e].layer);
  }
  const EvaluateOptions options{.exit_threshold = 0.7};
  const Evaluation once = evaluate(trained_exits().network, digits(), options);
  const Evaluation again = evaluate(back, digits(), options);
  EXPECT_EQ(once.rows_by_exit, again.rows_by_exit);
  EXPECT_EQ(once.loss, again.loss);
  // One more epoch, from the network as it is.
  TrainOptions more = small({}, 0);
  more.run.epochs = 1;
  more.learning.lr = 0.001;
  more.evolution.rule = Evolve::none;
  const TrainRun on = train_from(back, digits(), more);
  ASSERT_EQ(on.network.exits().size(), 2u);
  EXPECT_EQ(on.options.network.exits, (std::vector<Index>{1, 2}));
  const Evaluation after = evaluate(on.network, digits(), {.exit_threshold = 0});
  EXPECT_NEAR(after.accuracy, evaluate(back, digits(), {.exit_threshold = 0}).accuracy, 0.05)
      << "not new heads";
}

TEST(Exits, MayBeAddedToANetworkThatHasNone) {
  TrainOptions options = small({784, 64, 64, 10}, 0.8);
  const TrainRun plain = train(digits(), options);
  TrainOptions more = small({}, 0);
  more.run.epochs = 3;
  more.learning.lr = 0.02;
  more.network.exits = {1};
  const TrainRun run = train_from(plain.network, digits(), more);
  ASSERT_EQ(run.network.exits().size(), 1u);
  EXPECT_GT(evaluate(run.network, digits(), {.exit_threshold = 0}).accuracy, 0.6);
}

TEST(Exits, PredictionsAreThoseOfTheExit) {
  const Network& network = trained_exits().network;
  std::vector<float> rows(10 * 784, 0.0f);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i % 97 * (i % 11);
  RunWork work;
  const std::vector<float> early = compile(network, {0.0}).run(std::span<const float>(rows), {}, &work);
  EXPECT_EQ(work.rows_by_exit, (std::vector<Offset>{10, 0, 0}));
  // The same head as the end of a network of its own.
  Pieces cut = pieces_of(network);
  cut.layers = {cut.layers[0], cut.exits[0].layer};
  cut.exits.clear();
  RunWork chain;
  const std::vector<float> own = compile(cut.network()).run(std::span<const float>(rows), {}, &chain);
  EXPECT_EQ(chain.rows_by_exit, (std::vector<Offset>{10}));
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(early[i], own[i], 1e-3 * (1 + std::abs(own[i])));
}

TEST(Exits, MistakesAreNamed) {
  const Network plain = make_network({{1, 1, {0, 1}, {0}, {1.0f}, {0.0f}}});
  EXPECT_THROW((void)compile(plain, {0.5}), std::invalid_argument);
  EXPECT_THROW((void)compile(trained_exits().network, {1.5}), std::invalid_argument);
  EXPECT_THROW((void)compile(trained_exits().network, {std::nan("")}), std::invalid_argument);
  EXPECT_NE(error_of([&] { exit_curve(plain, digits(), {}); }).find("no exits"), std::string::npos);
  const auto refusal = [&](const std::function<void(TrainOptions&)>& change) {
    TrainOptions options = small({784, 20, 20, 10}, 0.8);
    change(options);
    return error_of([&] { train(digits(), options); });
  };
  EXPECT_NE(refusal([](TrainOptions& o) { o.network.exits = {3}; }).find("784-20-20-10 has 2"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainOptions& o) { o.network.exits = {2, 1}; }).find("each once"), std::string::npos);
  EXPECT_NE(refusal([](TrainOptions& o) {
              o.network.mixtures = {1, 1};
            }).find("each once"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainOptions& o) {
              o.network.mixtures = {1};
              o.network.experts = 2;
              o.network.active_experts = 3;
            }).find("3 of 2 experts"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainOptions& o) {
              o.network.mixtures = {1};
              o.network.dense = true;
            }).find("dense"),
            std::string::npos);
  EXPECT_NE(refusal([](TrainOptions& o) {
              o.network.exits = {1};
              o.evolution.rule = Evolve::prune;
              o.evolution.final_sparsity = 0.9;
            }).find("plain networks"),
            std::string::npos);
}

// Sixteen contexts, each with a meaning of its own: as many active connections, with and without a gate.
TEST(Mixture, BeatsAsManyActiveConnectionsWithoutAGate) {
  if (!full_tests()) GTEST_SKIP() << "an accuracy, which sanitizers do not change: FILIGREE_FULL=1 runs it";
  const Data data = load_data({.source = "contexts:20000"});
  for (const std::uint64_t seed : {1, 2}) {
    TrainOptions plain = small({40, 64, 4}, 0.7);
    plain.run.seed = seed;
    TrainOptions mixed = small({40, 64, 4}, 0.85);
    mixed.run.seed = seed;
    mixed.network.mixtures = {1};
    mixed.network.experts = 16;
    const Evaluation without = evaluate(train(data, plain).network, data);
    const TrainRun run = train(data, mixed);
    const Evaluation with = evaluate(run.network, data);
    EXPECT_LE(with.connections_per_row, without.connections_per_row);
    EXPECT_GT(with.accuracy, without.accuracy + 0.1) << "seed " << seed;
    EXPECT_NEAR(with.accuracy, run.test_score, 0.002) << "what is run is what was trained";
  }
}

TEST(Mixture, IsKeptInModelFiles) {
  const Data data = load_data({.source = "contexts:2000"});
  TrainOptions options = small({40, 32, 24, 4}, 0.7);
  options.network.mixtures = {1, 2};
  options.network.experts = 4;
  options.network.exits = {1};
  const TrainRun run = train(data, options);
  const TestDirectory directory;
  save(run.network, directory / "model.safetensors");
  const Network back = load(directory / "model.safetensors");
  EXPECT_EQ(copied_layers(back), copied_layers(run.network));
  const LayerInfo info = layer_info(back, 0);
  EXPECT_EQ(info.outputs, 32);
  EXPECT_EQ(info.experts, 4);
  EXPECT_EQ(info.active_experts, 2);
  EXPECT_EQ(evaluate(back, data).loss, evaluate(run.network, data).loss);
  EXPECT_NE(error_of([&] { static_cast<void>(compile_network(back)); }).find("mixture"), std::string::npos);
  EXPECT_NE(error_of([&] { train_from(back, data, options); }).find("mixture"), std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
