// SPDX-License-Identifier: Apache-2.0
// Tests of single steps: bits, schedules, the split of the rows, what is refused.
#include "train/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/test_threads.h"
#include "sparse/test_errors.h"
#include "train/cpu_training.h"
#include "train/test_training.h"

namespace filigree::internal {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TrainOptions options_for(const Dataset& data) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 20, 15, data.classes};
  options.network.sparsity = 0.5;
  options.run.batch = 40;
  options.run.epochs = 3;
  options.evolution.update_every = 2;
  return options;
}

// A whole epoch, from where the trainer stands.
void run_epoch(Training& trainer, std::int64_t epoch) {
  const std::vector<Index> rows = trainer.shuffled_rows(epoch).rows();
  const std::size_t batch = trainer.state().options.run.batch;
  for (std::size_t begin = 0; begin < rows.size(); begin += batch)
    trainer.step(std::span(rows).subspan(begin, std::min(batch, rows.size() - begin)));
}

std::vector<std::uint32_t> trained_bits(const Dataset& data, const TrainOptions& options) {
  Training trainer(data, options);
  for (std::int64_t epoch = 0; epoch < options.run.epochs; ++epoch) run_epoch(trainer, epoch);
  auto bits = all_bits(trainer.state().layers);
  bits.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(trainer.state().epoch.train_loss)));
  return bits;
}

TEST(Training, GivesTheSameBitsForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  for (const Kind kind : kKinds) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 150, 60, 5, 1);
      TrainOptions options = options_for(data);
      options.network.neurons = {60, 200, 150, 5};  // blocks of parameters and of growth for several threads
      options.network.dense = dense;
      options.run.batch = 60;  // and a last one of 30
      options.run.slices = 3;
      options.evolution.growth_batches = 2;
      options.learning.optimizer = Optimizer::adam;
      options.learning.lr = 0.01;
      options.learning.dropout = 0.2;
      options.learning.input_dropout = 0.1;
      set_threads(1);
      const auto expected = trained_bits(data, options);
      for (const int threads : {2, 5}) {
        set_threads(threads);
        EXPECT_EQ(trained_bits(data, options), expected) << threads << " threads";
      }
    }
  }
}

TEST(Training, FollowsTheSeed) {
  for (const Kind kind : {Kind::floats, Kind::sparse}) {
    for (const bool dense : {false, true}) {
      const Dataset data = random_data(kind, 100, 20, 4, 2);
      TrainOptions options = options_for(data);
      options.network.dense = dense;
      const auto first = trained_bits(data, options);
      EXPECT_EQ(trained_bits(data, options), first);
      options.run.seed = 2;
      EXPECT_NE(trained_bits(data, options), first);
    }
  }
}

TEST(Training, DropsOtherNeuronsInEachStepAndForEachSeed) {
  const Dataset data = random_data(Kind::floats, 40, 20, 4, 3);
  TrainOptions options = options_for(data);
  options.evolution.rule = Evolve::none;
  options.learning.dropout = 0.5;
  options.learning.lr = 0;  // the same network and the same rows: only dropout differs
  Training trainer(data, options);
  std::set<double> losses;
  for (int step = 0; step < 5; ++step) {
    trainer.state().epoch = {};
    trainer.step(trainer.train_rows());
    losses.insert(trainer.state().epoch.train_loss);
  }
  EXPECT_EQ(losses.size(), 5u);
}

TEST(Training, LearnsFromTheSameRowsWhateverTheSlices) {
  // Slices add up in another order: equal up to rounding, after a step.
  const Dataset data = random_data(Kind::floats, 130, 20, 4, 4);
  TrainOptions options = options_for(data);
  options.evolution.rule = Evolve::none;
  options.run.batch = 130;
  std::vector<std::vector<float>> values;
  for (const Index slices : {1, 2, 3, 5, 99}) {
    options.run.slices = slices;
    Training trainer(data, options);
    trainer.step(trainer.train_rows());
    values.push_back(trainer.state().layers[1].value);
    for (std::size_t e = 0; e < values[0].size(); ++e) EXPECT_NEAR(values.back()[e], values[0][e], 1e-6);
  }
}

TEST(Training, SlicesFollowFromTheBatch) {
  TrainOptions options;
  const auto slices = [&](Index batch, Index wanted) {
    options.run.batch = batch;
    options.run.slices = wanted;
    return slices_for(options);
  };
  EXPECT_EQ(slices(1, 0), 1u);
  EXPECT_EQ(slices(32, 0), 1u);
  EXPECT_EQ(slices(33, 0), 2u);
  EXPECT_EQ(slices(128, 0), 2u);
  EXPECT_EQ(slices(1024, 0), 4u);
  EXPECT_EQ(slices(128, 3), 3u);
  EXPECT_EQ(slices(40, 7), 2u);  // no more than panels
}

// The rates of the steps of a run of `epochs` epochs with 4 steps each.
std::vector<double> rates(const TrainOptions& given) {
  const Dataset data = random_data(Kind::floats, 16, 4, 2, 5);
  TrainOptions options = given;
  options.network.neurons = {4, 4, 2};
  options.network.sparsity = 0.2;
  options.run.batch = 4;
  options.evolution.rule = Evolve::none;
  Training trainer(data, options);
  std::vector<double> all;
  for (trainer.state().step = 0; trainer.state().step < trainer.total_steps(); ++trainer.state().step)
    all.push_back(trainer.learning_rate());
  EXPECT_EQ(trainer.steps_per_epoch(), 4);
  return all;
}

TEST(LearningRate, FollowsItsSchedule) {
  TrainOptions options;
  options.learning.lr = 0.8;
  options.run.epochs = 3;
  options.learning.warmup_epochs = 0;
  options.learning.schedule = Schedule::constant;
  EXPECT_EQ(rates(options), std::vector<double>(12, 0.8));
  options.learning.schedule = Schedule::step;
  options.learning.step_epochs = 2;
  options.learning.step_factor = 0.5;
  const auto stepped = rates(options);
  for (std::size_t s = 0; s < 12; ++s) EXPECT_DOUBLE_EQ(stepped[s], s < 8 ? 0.8 : 0.4) << s;
  options.learning.schedule = Schedule::cosine;
  const auto cosine = rates(options);
  EXPECT_DOUBLE_EQ(cosine[0], 0.8);
  EXPECT_NEAR(cosine[3], 0.4 * (1 + std::sqrt(0.5)), 1e-12);  // a quarter of the way
  EXPECT_NEAR(cosine[6], 0.4, 1e-12);
  EXPECT_NEAR(cosine[11], 0.4 * (1 + std::cos(M_PI * 11 / 12)), 1e-12);
}

TEST(LearningRate, RisesWhileItWarmsUp) {
  TrainOptions options;
  options.learning.lr = 0.8;
  options.run.epochs = 3;
  options.learning.warmup_epochs = 1;
  options.learning.schedule = Schedule::cosine;
  const auto all = rates(options);
  for (std::size_t s = 0; s < 4; ++s) EXPECT_DOUBLE_EQ(all[s], 0.2 * static_cast<double>(s + 1));
  EXPECT_DOUBLE_EQ(all[4], 0.8);
  EXPECT_NEAR(all[8], 0.4, 1e-12);  // half of the 8 steps left
  options.learning.warmup_epochs = 0.5;
  options.learning.schedule = Schedule::constant;
  const auto half = rates(options);
  EXPECT_DOUBLE_EQ(half[0], 0.4);
  EXPECT_DOUBLE_EQ(half[1], 0.8);
  EXPECT_DOUBLE_EQ(half[11], 0.8);
}

TEST(Training, SplitsTheRowsIntoThoseToTrainOnAndThoseToValidateWith) {
  const Dataset data = random_data(Kind::floats, 103, 20, 4, 6);
  TrainOptions options = options_for(data);
  options.run.validation = 0.25;
  const Training trainer(data, options);
  EXPECT_EQ(trainer.validation_rows().size(), 26u);  // 25.75
  std::set<Index> all(trainer.train_rows().begin(), trainer.train_rows().end());
  EXPECT_EQ(all.size(), 77u);
  for (const Index row : trainer.validation_rows()) EXPECT_TRUE(all.insert(row).second);
  EXPECT_EQ(all.size(), 103u);
  EXPECT_EQ(*all.begin(), 0);
  EXPECT_EQ(*all.rbegin(), 102);
  options.run.seed = 2;
  EXPECT_NE(Training(data, options).validation_rows(), trainer.validation_rows());
  options.run.validation = 0;
  EXPECT_TRUE(Training(data, options).validation_rows().empty());
}

TEST(Training, ShufflesTheTrainingRowsOfEachEpochAnew) {
  const Dataset data = random_data(Kind::floats, 50, 20, 4, 7);
  TrainOptions options = options_for(data);
  options.run.validation = 0.2;
  const Training trainer(data, options);
  const auto first = trainer.shuffled_rows(0).rows(), second = trainer.shuffled_rows(1).rows();
  EXPECT_EQ(trainer.shuffled_rows(0).rows(), first);
  EXPECT_NE(first, second);
  for (auto rows : {first, second}) {
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, trainer.train_rows());
  }
}

TEST(Training, ScalesByTheRowsItTrainsOnAlone) {
  Dataset data = random_data(Kind::floats, 60, 20, 4, 8);
  TrainOptions options = options_for(data);
  options.run.validation = 0.3;
  const Training before(data, options);
  for (const Index row : before.validation_rows())
    std::fill_n(data.train.floats.data() + static_cast<std::size_t>(row) * 20, 20, 1e6f);
  EXPECT_EQ(Training(data, options).state().facts.scaling, before.state().facts.scaling);
}

TEST(Training, TakesBatchesLargerThanTheData) {
  for (const bool dense : {false, true}) {
    const Dataset data = random_data(Kind::floats, 37, 20, 4, 9);
    TrainOptions options = options_for(data);
    options.network.dense = dense;
    options.run.batch = 1000;
    options.evolution.update_every = 1;
    options.run.epochs = 4;
    Training trainer(data, options);
    EXPECT_EQ(trainer.steps_per_epoch(), 1);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) run_epoch(trainer, epoch);
    EXPECT_TRUE(std::isfinite(trainer.state().epoch.train_loss));
  }
}

TEST(Training, WeighsARowOfTheLastPartOfABatchAsItsBatch) {
  // A batch of 3 of the same row gives the step of that row alone.
  const Dataset data = random_data(Kind::floats, 40, 20, 4, 10);
  TrainOptions options = options_for(data);
  options.evolution.rule = Evolve::none;
  options.learning.optimizer = Optimizer::sgd;
  Training one(data, options), three(data, options);
  one.step(std::vector<Index>{5});
  three.step(std::vector<Index>{5, 5, 5});
  for (std::size_t l = 0; l < 3; ++l)
    for (std::size_t e = 0; e < one.state().layers[l].value.size(); ++e)
      EXPECT_NEAR(one.state().layers[l].value[e], three.state().layers[l].value[e], 1e-6);
}

TEST(Training, ClipsTheGradientOfAllParametersTogether) {
  const Dataset data = random_data(Kind::floats, 40, 20, 4, 11);
  TrainOptions options = options_for(data);
  options.evolution.rule = Evolve::none;
  options.learning.optimizer = Optimizer::sgd;
  options.learning.schedule = Schedule::constant;
  options.learning.warmup_epochs = 0;
  options.learning.lr = 1;
  const auto moved = [&](double clip) {
    options.learning.clip_norm = clip;
    Training trainer(data, options);
    const auto before = trainer.state().layers;
    trainer.step(trainer.train_rows());
    double squares = 0;
    for (std::size_t l = 0; l < before.size(); ++l) {
      for (std::size_t e = 0; e < before[l].value.size(); ++e)
        squares += std::pow(double{trainer.state().layers[l].value[e]} - before[l].value[e], 2);
      for (std::size_t o = 0; o < before[l].bias.size(); ++o)
        squares += std::pow(double{trainer.state().layers[l].bias[o]} - before[l].bias[o], 2);
    }
    return std::sqrt(squares);
  };
  const double free = moved(0);
  EXPECT_GT(free, 0.1);
  EXPECT_NEAR(moved(0.01), 0.01, 1e-5);
  EXPECT_NEAR(moved(100 * free), free, 1e-5);
}

TEST(Training, EvolvesWhenItIsTimeAndNoLonger) {
  const Dataset data = random_data(Kind::floats, 80, 20, 4, 12);
  TrainOptions options = options_for(data);
  options.run.batch = 8;  // 10 steps an epoch
  options.run.epochs = 2;
  options.evolution.update_every = 3;
  options.evolution.stop = 0.6;  // of 20 steps: 3, 6 and 9, but not 12
  for (const Evolve method : {Evolve::set, Evolve::rigl}) {
    options.evolution.rule = method;
    Training trainer(data, options);
    for (std::int64_t step = 1; step <= 20; ++step) {
      const auto before = trainer.state().layers[0].pattern;
      trainer.step(std::span(trainer.train_rows()).first(8));
      EXPECT_EQ(trainer.state().layers[0].pattern != before, step == 3 || step == 6 || step == 9) << step;
    }
    EXPECT_EQ(trainer.state().epoch.dropped, trainer.state().epoch.grown);
    EXPECT_GT(trainer.state().epoch.dropped, 0);
  }
}

TEST(Training, ReachesTheFinalSparsity) {
  const Dataset data = random_data(Kind::floats, 80, 20, 4, 13);
  for (const double stop : {0.75, 0.72, 1.0}) {
    for (const double last : {0.2, 0.9}) {
      TrainOptions options = options_for(data);
      options.run.batch = 8;
      options.run.epochs = 4;  // 40 steps
      options.evolution.update_every = 7;
      options.evolution.stop = stop;
      options.evolution.final_sparsity = last;
      Training trainer(data, options);
      for (std::int64_t epoch = 0; epoch < 4; ++epoch) run_epoch(trainer, epoch);
      Offset connections = 0;
      for (const TrainLayer& layer : trainer.state().layers)
        connections += static_cast<Offset>(layer.connections());
      EXPECT_EQ(connections, std::llround((20 * 20 + 20 * 15 + 15 * 4) * (1 - last))) << stop;
    }
  }
}

TEST(Training, RefusesDataAndOptionsThatDoNotFit) {
  Dataset data = random_data(Kind::floats, 40, 20, 4, 14);
  const TrainOptions sound = options_for(data);
  const auto complaint = [&](const TrainOptions& options) {
    return error_of([&] { const Training trainer(data, options); });
  };
  EXPECT_EQ(complaint(sound), "");
  TrainOptions options = sound;
  options.network.neurons = {21, 20, 4};
  EXPECT_EQ(complaint(options), "network 21-20-4 has 21 inputs, but random rows has 20 features");
  options.network.neurons = {20, 20, 5};
  EXPECT_EQ(complaint(options), "network 20-20-5 has 5 outputs, but random rows has 4 classes");
  options.network.neurons = {20};
  EXPECT_EQ(complaint(options), "a network needs inputs and outputs, such as 20-256-4");
  options = sound;
  options.network.distribution = Distribution::densities;
  options.network.densities = {0.5, 0.5};
  EXPECT_EQ(complaint(options), "2 densities for the 3 weight matrices of 20-20-15-4");
  options = sound;
  options.run.validation = 0.999;
  EXPECT_EQ(complaint(options), "random rows has no rows to train on");
  for (const Index label : {-1, 4}) {
    data.train.label[7] = label;
    const std::string error = complaint(sound);
    EXPECT_NE(error.find("row 7"), std::string::npos) << error;
    EXPECT_NE(error.find("4 classes"), std::string::npos) << error;
  }
  data.train.label[7] = 0;
  data.test.label[3] = 9;
  EXPECT_NE(complaint(sound).find("label 9"), std::string::npos);
  data.test.label[3] = 0;
  data.train.label.clear();
  EXPECT_NE(complaint(sound).find("labels"), std::string::npos) << complaint(sound);
  data = random_data(Kind::floats, 40, 20, 4, 14);
  data.test.label.pop_back();
  EXPECT_NE(complaint(sound).find("labels"), std::string::npos) << complaint(sound);
}

TEST(Training, TakesDataWithoutTestRows) {
  Dataset data = random_data(Kind::floats, 40, 20, 4, 15);
  data.test = {};
  Training trainer(data, options_for(data));
  trainer.step(trainer.train_rows());
  EXPECT_EQ(trainer.evaluate(data.test, {}).score, 0);
}

TEST(Training, SaysWhatIsNotFiniteAndLeavesTheWeights) {
  for (const bool dense : {false, true}) {
    Dataset data = random_data(Kind::floats, 40, 20, 4, 16);
    TrainOptions options = options_for(data);
    options.network.dense = dense;
    Training trainer(data, options);
    trainer.step(trainer.train_rows());
    data.train.floats[5] = std::numeric_limits<float>::infinity();
    const auto before = all_bits(trainer.state().layers);
    const std::string error = error_of([&] { trainer.step(trainer.train_rows()); });
    EXPECT_NE(error.find("step 2 (epoch 0)"), std::string::npos) << error;
    EXPECT_NE(error.find("layer 1"), std::string::npos) << error;
    EXPECT_EQ(all_bits(trainer.state().layers), before);
    EXPECT_EQ(trainer.state().step, 1);
  }
}

TEST(Training, NoticesAWeightThatIsNotFiniteInAnyLayer) {
  const Dataset data = random_data(Kind::floats, 40, 20, 4, 17);
  for (const bool dense : {false, true}) {
    for (const Loss loss : {Loss::cross_entropy, Loss::mse}) {
      for (std::size_t l = 0; l < 3; ++l) {
        TrainOptions options = options_for(data);
        options.network.dense = dense;
        options.learning.loss = loss;
        options.network.activation = HiddenActivation::tanh;
        Training trainer(data, options);
        trainer.state().layers[l].value[0] = kNan;
        const std::string error = error_of([&] { trainer.step(trainer.train_rows()); });
        EXPECT_NE(error.find("layer " + std::to_string(l + 1)), std::string::npos)
            << "layer " << l + 1 << ": " << error;
      }
    }
  }
}

}  // namespace
}  // namespace filigree::internal
