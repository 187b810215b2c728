// SPDX-License-Identifier: Apache-2.0
// Tests of whole runs: learning, early stopping, files, stopping and going on.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "filigree/train.h"
#include "io/test_files.h"
#include "network/model_file.h"
#include "train/config.h"
#include "train/settings.h"
#include "train/test_checkpoint.h"
#include "train/test_training.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

TrainOptions options_for(const Dataset& data) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 20, 15, data.classes};
  options.network.sparsity = 0.5;
  options.run.batch = 32;
  options.run.epochs = 3;
  options.evolution.update_every = 3;
  return options;
}

RunFiles in(const std::filesystem::path& directory, bool resume = false) {
  RunFiles files;
  files.directory = directory;
  files.resume = resume;
  return files;
}

// Every file and what it holds.
std::map<std::string, std::string> contents(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files[entry.path().filename().string()] = file_content(entry.path());
  return files;
}

// What a report says, times left out.
EpochReport timeless(EpochReport report) {
  report.seconds = report.evolve_seconds = report.samples_per_second = 0;
  return report;
}

std::vector<std::string> lines_of(const std::vector<EpochReport>& history) {
  std::vector<std::string> lines;
  for (const EpochReport& report : history) lines.push_back(to_json_line(timeless(report), Task::classes));
  return lines;
}

void expect_same(const TrainOutcome& a, const TrainOutcome& b) {
  EXPECT_EQ(all_bits(a.state.layers), all_bits(b.state.layers));
  EXPECT_EQ(lines_of(a.state.history), lines_of(b.state.history));
  EXPECT_EQ(a.stopped_early, b.stopped_early);
  EXPECT_EQ(a.test_score, b.test_score);
  EXPECT_EQ(a.test_loss, b.test_loss);
  EXPECT_EQ(a.state.step, b.state.step);
  EXPECT_EQ(a.state.best_epoch, b.state.best_epoch);
}

// Stops again and again after two steps, until there is nothing left to do.
TrainOutcome run_in_pieces(const Dataset& data, const TrainOptions& options,
                           const std::filesystem::path& directory, int& pieces) {
  for (pieces = 1;; ++pieces) {
    std::stop_source stop;
    TrainObserver observer;
    observer.step = [&](const StepReport&) { stop.request_stop(); };
    observer.stop = stop.get_token();
    try {
      return run_training(data, options, in(directory, pieces > 1), observer);
    } catch (const Cancelled&) {
    }
  }
}

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

struct Resume {
  Kind kind;
  bool dense;
  Evolve method;
  Optimizer optimizer;
  std::int64_t growth_batches, patience;
  bool branches = false;
};

TEST(Run, GoesOnBitByBitAfterAnyStop) {
  for (const Resume& r : {Resume{Kind::floats, false, Evolve::rigl, Optimizer::adam, 3, 2},
                          Resume{Kind::sparse, false, Evolve::rigl, Optimizer::nesterov, 1, 0},
                          Resume{Kind::bytes, true, Evolve::none, Optimizer::adamw, 1, 2},
                          Resume{Kind::floats, false, Evolve::ertl, Optimizer::sgd, 2, 0},
                          Resume{Kind::bytes, false, Evolve::rigl, Optimizer::adam, 2, 2, true},
                          Resume{Kind::floats, false, Evolve::ertl, Optimizer::nesterov, 1, 0, true},
                          Resume{Kind::sparse, false, Evolve::set, Optimizer::adam, 1, 1}}) {
    const Dataset data = random_data(r.kind, 150, 10, 3, 10);
    TrainOptions options = options_for(data);
    options.network.dense = r.dense;
    options.evolution.rule = r.method;
    options.learning.optimizer = r.optimizer;
    options.evolution.growth_batches = r.growth_batches;
    options.run.patience = r.patience;
    options.learning.lr = 0.02;
    options.run.epochs = 6;
    options.run.validation = 0.2;
    options.learning.dropout = 0.1;
    options.evolution.final_sparsity = r.method == Evolve::rigl ? 0.7 : -1;
    if (r.branches) {
      options.network.exits = {1, 2};
      options.network.mixtures = {1};
      options.network.experts = 3;
    }
    SCOPED_TRACE(word(r.method));
    const TestDirectory directory;
    const TrainOutcome straight = run_training(data, options, in(directory / "straight"), {});
    int pieces = 0;
    const TrainOutcome resumed = run_in_pieces(data, options, directory / "pieces", pieces);
    EXPECT_GE(pieces, static_cast<int>(straight.state.step) / 2);
    expect_same(resumed, straight);
    auto expected = contents(directory / "straight"), actual = contents(directory / "pieces");
    EXPECT_EQ(actual.at("model.safetensors"), expected.at("model.safetensors"));
    EXPECT_EQ(actual.at("config.toml"), expected.at("config.toml"));
    ASSERT_EQ(actual.size(), 4u);
  }
}

TEST(Run, StopsAfterAnEpochWithACheckpointAndNoModel) {
  const TestDirectory directory;
  const Dataset data = random_data(Kind::floats, 150, 10, 3, 11);
  const TrainOptions options = options_for(data);
  std::stop_source stop;
  TrainObserver observer;
  observer.stop = stop.get_token();
  observer.epoch = [&](const EpochReport& report) {
    if (report.epoch == 2) stop.request_stop();
  };
  EXPECT_THROW(run_training(data, options, in(directory / "run"), observer), Cancelled);
  EXPECT_FALSE(std::filesystem::exists(directory / "run" / "model.safetensors"));
  const TrainState state = read_checkpoint(Source(directory / "run" / "checkpoint.safetensors"), {});
  EXPECT_EQ(state.history.size(), 2u);
  EXPECT_EQ(state.step_in_epoch, 1);
  EXPECT_EQ(state.step, 11);
  const TrainOutcome resumed = run_training(data, options, in(directory / "run", true), {});
  expect_same(resumed, run_training(data, options, {}, {}));
}

TEST(Run, StopsWithoutFilesToo) {
  const Dataset data = random_data(Kind::floats, 150, 10, 3, 12);
  std::stop_source stop;
  stop.request_stop();
  TrainObserver observer;
  observer.stop = stop.get_token();
  EXPECT_THROW(run_training(data, options_for(data), {}, observer), Cancelled);
}

TEST(Run, ResumesAFinishedRunToTheSameEnd) {
  for (const std::int64_t patience : {0, 1, 2}) {
    const TestDirectory directory;
    const Dataset data = random_data(Kind::floats, 150, 10, 3, 13);
    TrainOptions options = options_for(data);
    options.run.validation = 0.3;
    options.run.patience = patience;
    options.run.epochs = patience == 0 ? 3 : 30;
    const TrainOutcome finished = run_training(data, options, in(directory / "run"), {});
    EXPECT_EQ(finished.stopped_early, patience > 0);
    const auto model = file_content(directory / "run" / "model.safetensors");
    std::filesystem::remove(directory / "run" / "model.safetensors");  // as if it had been killed before
    expect_same(run_training(data, options, in(directory / "run", true), {}), finished);
    EXPECT_EQ(file_content(directory / "run" / "model.safetensors"), model);
  }
}

// A directory with a run that was stopped in mid-epoch.
class Stopped {
 public:
  Stopped() : data(random_data(Kind::floats, 150, 10, 3, 14)), options(options_for(data)) {
    std::stop_source stop;
    stop.request_stop();
    TrainObserver observer;
    observer.stop = stop.get_token();
    EXPECT_THROW(run_training(data, options, in(path()), observer), Cancelled);
    put_file(path() / "model.safetensors", "an older model");
  }
  std::filesystem::path path() const { return directory_ / "run"; }
  std::filesystem::path checkpoint() const { return path() / "checkpoint.safetensors"; }

  // The message of a run that fails, after which all files are as they were.
  std::string complaint(bool resume) const {
    const auto before = contents(path());
    const std::string error = error_of([&] { run_training(data, options, in(path(), resume), {}); });
    EXPECT_TRUE(contents(path()) == before) << "nothing may be overwritten";
    return error;
  }

  Dataset data;
  TrainOptions options;

 private:
  TestDirectory directory_;
};

TEST(Run, RefusesToResumeWithOtherSettings) {
  Stopped run;
  run.options.learning.lr = 0.2;
  const std::string error = run.complaint(true);
  EXPECT_NE(error.find("checkpoint.safetensors"), std::string::npos) << error;
  EXPECT_NE(error.find("lr = 0.2"), std::string::npos) << error;
  EXPECT_NE(error.find("lr = 0.1"), std::string::npos) << error;
  // Each single setting counts.
  const TrainOptions sound = options_for(run.data);
  std::vector<std::pair<std::string, TrainOptions>> others;
  TrainOptions walked = sound;
  for (const Setting& setting : all_settings()) {
    if (setting.name == "network") continue;
    std::visit(
        [&](auto member) {
          using Member = decltype(member);
          if constexpr (std::is_same_v<Member, WordMember>) {
            member.set(member.word() == member.words()[0] ? member.words()[1] : member.words()[0]);
          } else if constexpr (std::is_same_v<Member, bool*>) {
            *member = !*member;
          } else if constexpr (std::is_same_v<Member, std::vector<double>*>) {
            *member = {0.5, 0.5, 0.5};
          } else if constexpr (std::is_same_v<Member, std::vector<Index>*>) {
            *member = {1};
          } else if constexpr (std::is_same_v<Member, double*>) {
            *member = *member == 0 ? 0.5 : *member / 2;
          } else {
            ++*member;
          }
        },
        setting.member(walked));
    EXPECT_FALSE(walked == sound) << setting.name;
    others.emplace_back(setting.name, walked);
    walked = sound;
  }
  EXPECT_GT(others.size(), 35u);
  TrainOptions longer = sound;
  longer.run.epochs = 99;
  others.emplace_back(", now epochs = 99", longer);
  for (const auto& [name, options] : others) {
    run.options = options;
    const std::string message = run.complaint(true);
    EXPECT_NE(message.find("other settings"), std::string::npos) << name << ": " << message;
    EXPECT_NE(message.find(name), std::string::npos) << name << ": " << message;
  }
}

TEST(Run, RefusesToResumeOnOtherData) {
  Stopped run;
  run.data.train.floats[77] += 1;
  const std::string error = run.complaint(true);
  EXPECT_NE(error.find("other data than random rows"), std::string::npos) << error;
}

TEST(Run, RefusesToResumeFromNothing) {
  Stopped run;
  std::filesystem::remove(run.checkpoint());
  EXPECT_NE(run.complaint(true).find("no checkpoint to resume from"), std::string::npos);
  const TestDirectory directory;
  EXPECT_NE(error_of([&] {
              run_training(run.data, run.options, in(directory / "none", true), {});
            }).find("no checkpoint"),
            std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory / "none"));
}

TEST(Run, RefusesToResumeFromADamagedCheckpoint) {
  Stopped run;
  const std::string sound = file_content(run.checkpoint());
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, sound.size() / 2, sound.size() - 1}) {
    put_file(run.checkpoint(), sound.substr(0, length));
    EXPECT_NE(run.complaint(true).find("checkpoint.safetensors"), std::string::npos) << length;
  }
  std::string damaged = sound;
  damaged.replace(damaged.find("filigree checkpoint"), 8, "FILIGREE");
  put_file(run.checkpoint(), damaged);
  EXPECT_NE(run.complaint(true), "");
  put_file(run.checkpoint(), "model.safetensors it is not");
  EXPECT_NE(run.complaint(true), "");
}

TEST(Run, WarnsWhenItResumesWithOtherInstructions) {
  Stopped run;
  const std::string here = file_content(run.checkpoint());
  std::vector<std::string> warnings;
  TrainObserver observer;
  observer.warning = [&](const std::string& text) { warnings.push_back(text); };
  run_training(run.data, run.options, in(run.path(), true), observer);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  put_file(run.checkpoint(), here);
  change_checkpoint(run.checkpoint(), [](Metadata& metadata) { metadata["simd"] = "other"; });
  run_training(run.data, run.options, in(run.path(), true), observer);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings.front().find("in another order"), std::string::npos) << warnings.front();
}

TEST(Run, RefusesADirectoryThatHoldsARun) {
  Stopped run;
  const std::string error = run.complaint(false);
  EXPECT_NE(error.find(run.path().string()), std::string::npos) << error;
  EXPECT_NE(error.find("holds a run already"), std::string::npos) << error;
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
