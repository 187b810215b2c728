// SPDX-License-Identifier: Apache-2.0
// Tests of whole runs: learning, early stopping, files, refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "network/model_file.h"
#include "train/settings.h"
#include "train/test_checkpoint.h"
#include "train/test_runs.h"

namespace filigree::internal {
namespace {

TEST(Run, LearnsASeparableProblemByEveryMethod) {
  for (const Kind kind : kKinds) {
    const Dataset data = separable_data(kind, 120, 3, 1);
    for (const Evolve method : {Evolve::none, Evolve::set, Evolve::rigl, Evolve::ertl}) {
      for (const bool dense : {false, true}) {
        if (dense && method != Evolve::none) continue;
        TrainOptions options = options_for(data);
        options.evolution.rule = method;
        options.network.dense = dense;
        options.run.epochs = 12;
        const TrainOutcome outcome = run_training(data, options, {}, {});
        SCOPED_TRACE(word(method));
        EXPECT_EQ(outcome.test_score, 1.0);
        EXPECT_EQ(outcome.state.history.back().train_score, 1.0);
        EXPECT_LT(outcome.state.history.back().train_loss, 0.5 * outcome.state.history.front().train_loss);
      }
    }
  }
}

TEST(Run, LearnsWithEveryOptimizerActivationAndLoss) {
  const Dataset data = separable_data(Kind::floats, 120, 3, 2);
  TrainOptions options = options_for(data);
  options.run.epochs = 20;
  const auto accuracy = [&] { return run_training(data, options, {}, {}).test_score; };
  for (const Optimizer optimizer :
       {Optimizer::sgd, Optimizer::nesterov, Optimizer::adam, Optimizer::adamw, Optimizer::lion}) {
    options.learning.optimizer = optimizer;
    options.learning.lr = optimizer == Optimizer::sgd ? 0.5 : optimizer == Optimizer::nesterov ? 0.1 : 0.01;
    EXPECT_EQ(accuracy(), 1.0) << word(optimizer);
  }
  options.learning.optimizer = Optimizer::adam;
  for (const Loss loss : {Loss::cross_entropy, Loss::mse}) {
    for (const HiddenActivation activation :
         {HiddenActivation::relu, HiddenActivation::leaky_relu, HiddenActivation::all_relu,
          HiddenActivation::sigmoid, HiddenActivation::tanh, HiddenActivation::softplus}) {
      options.learning.loss = loss;
      options.network.activation = activation;
      options.learning.lr = 0.03;
      EXPECT_EQ(accuracy(), 1.0) << word(loss) << ", " << word(activation);
    }
  }
}

TEST(Run, LearnsWithEveryPreset) {
  const Dataset data = separable_data(Kind::floats, 240, 3, 3);
  for (const char* preset : {"best", "fast", "ertl"}) {
    TrainOptions options = preset_options(preset);
    options.network.neurons = {12, 20, 3};
    options.network.sparsity = 0.5;
    options.run.batch = 8;
    options.run.epochs = 20;
    EXPECT_EQ(run_training(data, options, {}, {}).test_score, 1.0) << preset;
  }
}

TEST(Run, TellsEachEpoch) {
  const Dataset data = separable_data(Kind::floats, 100, 3, 4);
  TrainOptions options = options_for(data);
  options.run.validation = 0.2;
  std::vector<EpochReport> reports;
  std::vector<StepReport> steps;
  TrainObserver observer;
  observer.epoch = [&](const EpochReport& report) { reports.push_back(report); };
  observer.step = [&](const StepReport& report) { steps.push_back(report); };
  const TrainOutcome outcome = run_training(data, options, {}, observer);
  ASSERT_EQ(reports.size(), 3u);
  ASSERT_EQ(outcome.state.history.size(), 3u);
  Offset connections = 0;
  for (const TrainLayer& layer : outcome.state.layers)
    connections += static_cast<Offset>(layer.connections());
  for (std::size_t e = 0; e < 3; ++e) {
    EXPECT_EQ(reports[e].epoch, static_cast<std::int64_t>(e) + 1);
    EXPECT_EQ(reports[e].epochs, 3);
    EXPECT_EQ(reports[e].connections, connections);
    EXPECT_NEAR(reports[e].sparsity, 0.5, 1e-3);
    EXPECT_GE(reports[e].validation_score, 0);
    EXPECT_LE(reports[e].validation_score, 1);
    EXPECT_TRUE(std::isnan(reports[e].test_score));
    EXPECT_EQ(reports[e].dropped, reports[e].grown);
  }
  EXPECT_EQ(outcome.state.history.back().test_score, outcome.test_score);
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0].step, 1);
  EXPECT_EQ(steps[0].steps, 3);  // 80 rows in batches of 32
  EXPECT_EQ(steps[0].connections, connections);
}

TEST(Run, TestsEveryEpochWhenAskedTo) {
  const Dataset data = separable_data(Kind::floats, 100, 3, 5);
  RunFiles files;
  files.test_every_epoch = true;
  const TrainOutcome outcome = run_training(data, options_for(data), files, {});
  for (const EpochReport& report : outcome.state.history) EXPECT_FALSE(std::isnan(report.test_score));
  const TrainOutcome silent = run_training(data, options_for(data), {}, {});
  EXPECT_EQ(all_bits(silent.state.layers), all_bits(outcome.state.layers)) << "looking changes nothing";
}

TEST(Run, MeasuresWhatTheNetworkDoes) {
  for (const Kind kind : kKinds) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 150, 10, 3, 6);
      TrainOptions options = options_for(data);
      options.network.neurons = {10, 12, 3};
      options.network.dense = dense;
      options.run.validation = 0.3;
      const TrainOutcome outcome = run_training(data, options, {}, {});
      const auto network = in_double(outcome.state.layers);
      std::vector<Index> rows(data.test.rows);
      std::iota(rows.begin(), rows.end(), 0);
      const Score test = score_of(network, data.test, outcome.state.facts.scaling, rows);
      ASSERT_EQ(test.close, 0);
      EXPECT_NEAR(outcome.test_score, static_cast<double>(test.right) / 75, 1e-12);
      const Training trainer(data, options);
      const auto& validation = trainer.validation_rows();
      const Score score = score_of(network, data.train, outcome.state.facts.scaling, validation);
      ASSERT_EQ(score.close, 0);
      EXPECT_NEAR(outcome.state.history.back().validation_score,
                  static_cast<double>(score.right) / static_cast<double>(validation.size()), 1e-12);
    }
  }
}

TEST(Run, NeverTrainsOnValidationRows) {
  for (const Evolve method : {Evolve::set, Evolve::rigl, Evolve::ertl}) {
    Dataset data = random_data(Kind::floats, 100, 10, 3, 7);
    TrainOptions options = options_for(data);
    options.evolution.rule = method;
    options.run.validation = 0.3;
    options.evolution.growth_batches = 3;
    const TrainOutcome clean = run_training(data, options, {}, {});
    const auto validation = Training(data, options).validation_rows();
    ASSERT_EQ(validation.size(), 30u);
    for (const Index row : validation)  // whoever looked at them would be NaN from there on
      std::fill_n(data.train.floats.data() + static_cast<std::size_t>(row) * 10, 10, NAN);
    const TrainOutcome poisoned = run_training(data, options, {}, {});
    EXPECT_EQ(all_bits(poisoned.state.layers), all_bits(clean.state.layers));
    EXPECT_EQ(poisoned.state.history.back().train_loss, clean.state.history.back().train_loss);
  }
}

TEST(Run, ReturnsTheBestEpochsNetworkWhenItStopsEarly) {
  for (const Kind kind : {Kind::floats, Kind::sparse}) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 120, 10, 3, 8);  // nothing to learn: accuracy goes up and down
      TrainOptions options = options_for(data);
      options.network.dense = dense;
      options.run.validation = 0.4;
      options.run.patience = 3;
      options.run.epochs = 40;
      const TestDirectory directory;
      const TrainOutcome outcome = run_training(data, options, in(directory.path()), {});
      EXPECT_TRUE(outcome.stopped_early);
      const auto& history = outcome.state.history;
      std::size_t best = 0;
      for (std::size_t e = 1; e < history.size(); ++e)
        if (history[e].validation_score > history[best].validation_score) best = e;
      ASSERT_LT(history.size(), 40u);
      EXPECT_EQ(history.size(), best + 1 + 3) << "three epochs without a better one";
      EXPECT_EQ(outcome.state.best_epoch, static_cast<std::int64_t>(best) + 1);

      // The same run, ended by hand after its best epoch.
      std::stop_source stop;
      TrainObserver observer;
      std::vector<TrainLayer> layers;
      Training trainer(data, options);
      for (std::size_t e = 0; e <= best; ++e) {
        const auto rows = trainer.shuffled_rows(e).rows();
        for (std::size_t begin = 0; begin < rows.size(); begin += 32)
          trainer.step(std::span(rows).subspan(begin, std::min<std::size_t>(32, rows.size() - begin)));
      }
      const std::vector<Layer> model = copied_layers(read_model(directory / "model.safetensors"));
      ASSERT_EQ(model.size(), 3u);
      for (std::size_t l = 0; l < 3; ++l) {
        EXPECT_EQ(to_layer(outcome.state.layers[l]), to_layer(trainer.state().layers[l]));
        EXPECT_EQ(model[l].weights, to_layer(trainer.state().layers[l]).weights);
        EXPECT_EQ(model[l].bias, trainer.state().layers[l].bias);
      }
      const LossSum test = trainer.evaluate(data.test, [&] {
        std::vector<Index> rows(data.test.rows);
        std::iota(rows.begin(), rows.end(), 0);
        return rows;
      }());
      EXPECT_EQ(outcome.test_score, test.score / 60);
    }
  }
}

TEST(Run, LeavesItsFiles) {
  const TestDirectory directory;
  const Dataset data = separable_data(Kind::bytes, 100, 3, 9);
  const TrainOptions options = options_for(data);
  RunFiles files = in(directory / "new" / "run");
  files.data.source = "digits:100";
  const TrainOutcome outcome = run_training(data, options, files, {});
  const auto left = contents(files.directory);
  ASSERT_EQ(left.size(), 4u);
  const Network network = read_model(files.directory / "model.safetensors");
  const std::vector<Layer> layers = copied_layers(network);
  ASSERT_EQ(layers.size(), 3u);
  for (std::size_t l = 0; l < 3; ++l) EXPECT_EQ(layers[l], to_layer(outcome.state.layers[l]));
  EXPECT_EQ(network.facts().scaling, outcome.state.facts.scaling);
  const TrainConfig config = read_config(files.directory / "config.toml", {});
  EXPECT_EQ(config.options, options);
  EXPECT_EQ(config.data.source, "digits:100");
  std::vector<EpochReport> metrics;
  std::istringstream lines(left.at("metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(nlohmann::json::parse(line).is_object());
    metrics.push_back(epoch_from_json(line));
  }
  EXPECT_EQ(lines_of(metrics), lines_of(outcome.state.history));
}

void expect_network_of(const TrainState& state, const std::filesystem::path& path) {
  EXPECT_EQ(copied_layers(read_model(path)), copied_layers(network_of(state)));
}

TEST(Run, RefusesSettingsThatWouldDoNothingOrLeaveNothing) {
  const Dataset data = random_data(Kind::floats, 60, 10, 3, 14);
  const auto refusal = [&](const auto& change) {
    TrainOptions options = options_for(data);
    change(options);
    return error_of([&] { run_training(data, options, {}, {}); });
  };
  EXPECT_EQ(refusal([](TrainOptions& o) { o.run.patience = 2; }),
            "patience 2 without validation rows to watch: set validation, to 0.1 for example");
  EXPECT_EQ(refusal([](TrainOptions& o) { o.network.densities = {0.5}; }),
            "1 densities are given, but the distribution is er");
  EXPECT_EQ(refusal([](TrainOptions& o) {
              o.evolution.rule = Evolve::none;
              o.evolution.final_sparsity = 0.75;
            }),
            "a final sparsity of 0.75 is reached by evolution, but there is none");
  EXPECT_THAT(refusal([](TrainOptions& o) { o.evolution.final_sparsity = 0.9999; }),
              testing::HasSubstr("a sparsity of 0.9999 leaves layer 1 (10 to "));
  EXPECT_THAT(refusal([](TrainOptions& o) {
                o.network.distribution = Distribution::densities;
                o.network.densities.assign(o.network.neurons.size() - 1, 0.001);
              }),
              testing::HasSubstr("a density of 0.001 leaves layer 1 (10 to "));
}

TEST(Run, SaysWhereALossThatIsNotFiniteAroseAndKeepsTheLastGoodCheckpoint) {
  const TestDirectory directory;
  const Dataset data = random_data(Kind::floats, 150, 10, 3, 15);
  TrainOptions options = options_for(data);
  options.learning.lr = 1000;
  options.learning.clip_norm = 0;
  options.learning.schedule = Schedule::constant;
  options.learning.warmup_epochs = 0;
  options.learning.optimizer = Optimizer::sgd;
  options.learning.weight_decay = 1000;  // weights grow a millionfold a step
  options.run.epochs = 10;
  options.run.batch = 75;  // two steps an epoch: the first of them end well
  std::int64_t finished = 0;
  TrainObserver observer;
  observer.epoch = [&](const EpochReport& report) { finished = report.epoch; };
  const std::string error = error_of([&] { run_training(data, options, in(directory / "run"), observer); });
  ASSERT_GT(finished, 0);
  EXPECT_NE(error.find("step "), std::string::npos) << error;
  EXPECT_NE(error.find("(epoch " + std::to_string(finished + 1) + ")"), std::string::npos) << error;
  EXPECT_NE(error.find("layer"), std::string::npos) << error;
  EXPECT_NE(error.find((directory / "run" / "checkpoint.safetensors").string()), std::string::npos) << error;
  const TrainState state = read_checkpoint(Source(directory / "run" / "checkpoint.safetensors"), {});
  EXPECT_EQ(state.history.size(), static_cast<std::size_t>(finished));
  expect_network_of(state, directory / "run" / "model.safetensors");
}

TEST(Run, WritesNoCheckpointWithNumbersThatAreNotFinite) {
  // Weights grow a millionfold a step, and bounded activations hide it from the loss until they are infinite:
  // after the last step of an epoch.
  const Dataset data = random_data(Kind::floats, 50, 10, 3, 16);
  for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::nesterov}) {
    const TestDirectory directory;
    TrainOptions options = options_for(data);
    options.learning.optimizer = optimizer;
    options.evolution.rule = Evolve::none;
    options.network.activation = HiddenActivation::tanh;
    options.learning.loss = Loss::mse;
    options.learning.lr = 1000;
    options.learning.clip_norm = 0;
    options.learning.schedule = Schedule::constant;
    options.learning.warmup_epochs = 0;
    options.learning.weight_decay = 1000;
    options.run.batch = 50;
    options.run.epochs = 20;
    std::int64_t finished = 0;
    TrainObserver observer;
    observer.epoch = [&](const EpochReport& report) { finished = report.epoch; };
    const std::string error = error_of([&] { run_training(data, options, in(directory / "run"), observer); });
    EXPECT_NE(error.find("(epoch " + std::to_string(finished + 1) + ")"), std::string::npos) << error;
    EXPECT_NE(error.find("of layer"), std::string::npos) << error;
    EXPECT_NE(error.find("checkpoint.safetensors"), std::string::npos) << error;
    const TrainState state = read_checkpoint(Source(directory / "run" / "checkpoint.safetensors"), {});
    EXPECT_EQ(state.history.size(), static_cast<std::size_t>(finished));
    expect_network_of(state, directory / "run" / "model.safetensors");
  }
}

TEST(Run, SaysThatThereIsNoCheckpointYet) {
  const TestDirectory directory;
  Dataset data = random_data(Kind::floats, 150, 10, 3, 17);
  data.train.floats[3] = NAN;
  const std::string error =
      error_of([&] { run_training(data, options_for(data), in(directory / "run"), {}); });
  EXPECT_NE(error.find("no checkpoint yet"), std::string::npos) << error;
  EXPECT_NE(error.find("epoch 1"), std::string::npos) << error;
}

TEST(Run, RefusesSettingsOutOfRange) {
  const Dataset data = random_data(Kind::floats, 50, 10, 3, 18);
  for (const auto& change : std::vector<std::function<void(TrainOptions&)>>{
           [](TrainOptions& o) { o.run.batch = 0; }, [](TrainOptions& o) { o.evolution.update_every = -1; },
           [](TrainOptions& o) { o.network.sparsity = 1; }, [](TrainOptions& o) { o.learning.dropout = 1; },
           [](TrainOptions& o) { o.evolution.growth_batches = 0; }}) {
    TrainOptions options = options_for(data);
    change(options);
    const std::string error = error_of([&] { run_training(data, options, {}, {}); });
    EXPECT_NE(error.find("but must be"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace filigree::internal
