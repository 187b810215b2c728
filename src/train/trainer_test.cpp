// SPDX-License-Identifier: Apache-2.0
// Tests of training in loops of the user's own.
#include <gtest/gtest.h>

#include <thread>

#include <numeric>

#include "base/random.h"
#include "filigree/evaluate.h"
#include "filigree/session.h"
#include "filigree/train.h"
#include "network/network.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

Data blobs(Index rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values;
  std::vector<Index> labels;
  for (Index r = 0; r < rows; ++r) {
    labels.push_back(r % 3);
    for (int f = 0; f < 6; ++f) values.push_back(random.normal() + (f % 3 == r % 3 ? 2 : 0));
  }
  return make_data(values, labels, 6);
}

TrainOptions small() {
  TrainOptions options;
  options.network.neurons = {6, 24, 16, 3};
  options.network.sparsity = 0.6;
  options.run.epochs = 6;
  options.run.batch = 32;
  options.evolution.update_every = 7;
  return options;
}

TEST(Trainer, DoesInALoopOfOnesOwnWhatTrainDoes) {
  const Data data = blobs(300, 1);
  const TrainRun whole = train(data, small());
  Trainer trainer(data, small());
  std::size_t epochs = 0;
  while (!trainer.done()) {
    const EpochReport report = trainer.epoch();
    EXPECT_EQ(report.train_loss, whole.epochs[epochs++].train_loss);
  }
  EXPECT_EQ(epochs, 6u);
  EXPECT_EQ(trainer.history().size(), 6u);
  EXPECT_EQ(copied_layers(trainer.network()), copied_layers(whole.network));
  EXPECT_GT(trainer.evaluate(Part::train).score, 0.9);
  EXPECT_EQ(trainer.evaluate(Part::train).rows, 300);
  EXPECT_THROW(trainer.epoch(), std::invalid_argument) << "all are done";
  EXPECT_NE(error_of([&] { trainer.evaluate(Part::test); }), "") << "there are no test rows";
}

TEST(Trainer, GoesOnWithOtherRows) {
  const Data data = blobs(300, 1), further = blobs(90, 9);
  const TrainRun whole = train(data, small());
  Trainer trainer(data, small());
  for (int e = 0; e < 3; ++e) trainer.epoch();
  trainer.go_on_with(data, 3);
  while (!trainer.done()) trainer.epoch();
  EXPECT_EQ(copied_layers(trainer.network()), copied_layers(whole.network)) << "the same rows change nothing";
  trainer.go_on_with(further, 2);
  EXPECT_FALSE(trainer.done());
  while (!trainer.done()) trainer.epoch();
  EXPECT_EQ(trainer.history().size(), 8u);
  EXPECT_GT(trainer.evaluate(Part::train).score, 0.9);
  EXPECT_EQ(trainer.evaluate(Part::train).rows, 90);
  const std::vector<float> values(12, 1.0f);
  const std::vector<Index> two = {0, 1};
  EXPECT_NE(error_of([&] { trainer.go_on_with(make_data(values, two, 6)); }), "")
      << "two classes are not three";
  EXPECT_EQ(trainer.evaluate(Part::train).rows, 90) << "nothing has changed";
}

TEST(Trainer, WatchesTheValidationRowsItWasGiven) {
  const std::vector<float> rows = {0, 1, 0, 1, 0, 1}, other = {0, 1, 1};
  const std::vector<Index> classes = {0, 1, 0, 1, 0, 1}, turned = {1, 0, 0};
  TrainOptions options = small();
  options.network.neurons = {};
  options.network.hidden = {16};
  options.network.sparsity = 0.5;
  options.run.batch = 2;
  const Data data = make_data({Rows(rows, 1), classes}, {.validation = LabelledRows{Rows(other, 1), turned}});
  Trainer trainer(data, options);
  while (!trainer.done()) trainer.epoch();
  const EpochReport& last = trainer.history().back();
  EXPECT_EQ(last.train_score, 1);
  EXPECT_EQ(last.validation_score, 0) << "their classes are turned round";
  options.run.validation = 0.5;
  EXPECT_NE(error_of([&] { (void)Trainer(data, options); }), "") << "a share as well";
}

TEST(Trainer, LearnsInPartsWhoseClassesAreSaidBefore) {
  const Data all = blobs(600, 4);
  TrainOptions options = small();
  options.learning.schedule = Schedule::constant;
  options.learning.lr = 0.02;
  options.run.epochs = 1;
  std::vector<float> values;
  std::vector<Index> labels;
  std::optional<Trainer> trainer;
  Random random(4);
  for (int part = 0; part < 20; ++part) {
    values.clear(), labels.clear();
    for (int r = 0; r < 60; ++r) {
      labels.push_back(part < 2 ? r % 2 : r % 3);  // at first the third class does not appear
      for (int f = 0; f < 6; ++f) values.push_back(random.normal() + (f % 3 == labels.back() ? 2 : 0));
    }
    const Data rows = make_data({Rows(values, 6), labels}, {.targets = 3});
    if (trainer)
      trainer->go_on_with(rows);
    else
      trainer.emplace(rows, options);
    trainer->epoch();
  }
  EXPECT_GT(evaluate(trainer->network(), all, {Part::train}).accuracy, 0.9);
}

TEST(Trainer, GoesOnFromItsStateBitByBit) {
  const Data data = blobs(300, 2);
  Trainer whole(data, small());
  whole.epoch();
  const std::vector<std::byte> state = whole.state();
  Trainer rest(data, state);
  EXPECT_EQ(rest.steps(), whole.steps());
  while (!whole.done()) whole.epoch();
  while (!rest.done()) rest.epoch();
  EXPECT_EQ(copied_layers(rest.network()), copied_layers(whole.network()));
  std::vector<std::byte> damaged = state;
  damaged[damaged.size() / 2] ^= std::byte{4};
  EXPECT_NE(error_of([&] { Trainer(data, damaged); }), "");
  EXPECT_NE(error_of([&] { Trainer(blobs(300, 3), state); }).find("other data"), std::string::npos);
}

TEST(Trainer, AnyNumberWorkSideBySide) {
  const Data data = blobs(300, 2);
  const auto trained = [&] {
    Trainer trainer(data, small());
    while (!trainer.done()) trainer.epoch();
    return copied_layers(trainer.network());
  };
  const auto alone = trained();
  std::vector<std::vector<Layer>> found(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([&, t] {
      const Session session({.threads = static_cast<int>(1 + t % 3)});
      const Session::Use use(session);
      found[t] = trained();
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& layers : found) EXPECT_EQ(layers, alone);
}

TEST(Trainer, TakesStepsOnChosenRowsAtAnotherRate) {
  const Data data = blobs(300, 4);
  Trainer trainer(data, small());
  std::vector<Index> rows(32);
  std::iota(rows.begin(), rows.end(), 0);
  const double before = trainer.evaluate(Part::train).loss;
  for (int s = 0; s < 60; ++s) trainer.step(rows);
  EXPECT_EQ(trainer.steps(), 60);
  EXPECT_LT(trainer.evaluate(Part::train).loss, before);
  const double rate = trainer.learning_rate();
  trainer.set_peak_learning_rate(small().learning.lr / 10);
  EXPECT_NEAR(trainer.learning_rate(), rate / 10, 1e-12);
  EXPECT_THROW(trainer.set_peak_learning_rate(-1), std::invalid_argument);
  rows[3] = 300;
  EXPECT_THROW(trainer.step(rows), std::invalid_argument);
  EXPECT_THROW(trainer.step({}), std::invalid_argument);
  rows.assign(33, 0);
  EXPECT_THROW(trainer.step(rows), std::invalid_argument) << "more than a batch";
}

TEST(Trainer, StepsDoNotCountInTheReportsOfEpochs) {
  const Data data = blobs(300, 7);
  TrainOptions options = small();
  options.learning.lr = 0;  // nothing changes, so epochs with and without further steps are alike
  options.evolution.rule = Evolve::none;
  Trainer plain(data, options), mixed(data, options);
  const std::vector<Index> rows = {1, 2, 3};
  for (int s = 0; s < 5; ++s) mixed.step(rows);
  EXPECT_EQ(mixed.epoch().train_loss, plain.epoch().train_loss);
}

TEST(Trainer, GoesBackToTheBestEpochAsTrainDoes) {
  const Data data = blobs(300, 8);
  TrainOptions options = small();
  options.run.validation = 0.3;
  options.run.patience = 2;
  options.run.epochs = 12;
  options.learning.lr = 0.5;
  const TrainRun whole = train(data, options);
  Trainer trainer(data, options);
  while (!trainer.done()) trainer.epoch();
  trainer.use_best();
  EXPECT_EQ(copied_layers(trainer.network()), copied_layers(whole.network));
}

TEST(Trainer, StopsWithinAnEpochAndGoesOn) {
  const Data data = blobs(300, 5);
  Trainer whole(data, small()), stopped(data, small());
  std::stop_source stop;
  stop.request_stop();
  TrainObserver observer;
  observer.stop = stop.get_token();
  EXPECT_THROW(stopped.epoch(observer), Cancelled);
  EXPECT_EQ(stopped.steps(), 1);
  while (!whole.done()) whole.epoch();
  while (!stopped.done()) stopped.epoch();
  EXPECT_EQ(copied_layers(stopped.network()), copied_layers(whole.network()));
}

TEST(Trainer, GoesOnFromANetworkAndKeepsItsSession) {
  const Data data = blobs(300, 6);
  const TrainRun first = train(data, small());
  const Session session({.threads = 2});
  std::unique_ptr<Trainer> trainer;
  {
    const Session::Use use(session);
    TrainOptions more = small();
    more.learning.lr = 0.001;
    trainer = std::make_unique<Trainer>(first.network, data, more);
  }
  const double before = trainer->evaluate(Part::train).score;
  trainer->epoch();
  EXPECT_GE(trainer->evaluate(Part::train).score, before - 0.05);
}

}  // namespace
}  // namespace filigree::internal
