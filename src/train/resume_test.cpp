// SPDX-License-Identifier: Apache-2.0
// Tests of stopping and going on.
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

}  // namespace
}  // namespace filigree::internal
