// SPDX-License-Identifier: Apache-2.0
// Tests of what is learned: values in their own units, labels, two classes by one output, weights.
#include "train/targets.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/data.h"
#include "filigree/evaluate.h"
#include "filigree/predict.h"
#include "filigree/train.h"
#include "sparse/test_errors.h"
#include "train/test_training.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

constexpr Index kFeatures = 6;

// Two values in units of their own that follow from the features, or labels: whether they are above 0.
Dataset rows_with_targets(Task task, Index rows, std::uint64_t seed, Kind kind = Kind::floats) {
  Dataset data;
  data.name = "made rows";
  data.task = task;
  data.targets = 2;
  data.target_names = {"price", "mass"};
  const auto part = [&](Index count, std::uint64_t part_seed) {
    DataRows result = random_rows(kind, count, kFeatures, 2, part_seed);
    result.label.clear();
    for (Index r = 0; r < count; ++r) {
      std::vector<double> x;
      for (Index f = 0; f < kFeatures; ++f) x.push_back(feature_of(result, {}, r, f));
      const double a = x[0] - 2 * x[1] + x[2] * x[2], b = x[3] + 0.5 * x[4];
      const bool values = task == Task::values;
      result.target.push_back(values ? 1000 + 50 * a : (a > 0 ? 1 : 0));
      result.target.push_back(values ? -3e-3 + 1e-4 * b : (b > 0 ? 1 : 0));
    }
    return result;
  };
  data.train = part(rows, seed);
  data.test = part(rows / 4, seed + 1);
  return data;
}

Data wrap(Dataset set) {
  Data::Impl impl;
  impl.dataset = std::move(set);
  return Data(std::make_shared<Data::Impl>(std::move(impl)));
}

TrainOptions quick(std::int64_t epochs = 30) {
  TrainOptions options;
  options.network.hidden = {48, 48};
  options.network.sparsity = 0.7;
  options.learning.lr = 0.05;
  options.run.epochs = epochs;
  options.run.batch = 64;
  return options;
}

double metric(const Evaluation& evaluation, const std::string& name) {
  for (const Metric& each : evaluation.metrics)
    if (each.name == name) return each.value;
  ADD_FAILURE() << "no " << name;
  return 0;
}

TEST(Targets, ValuesAreLearnedInTheirOwnUnits) {
  const Data data = wrap(rows_with_targets(Task::values, 3000, 1));
  for (const Loss loss : {Loss::squared, Loss::absolute, Loss::huber}) {
    TrainOptions options = quick();
    options.learning.loss = loss;
    const TrainRun run = train(data, options);
    EXPECT_EQ(run.network.task(), Task::values);
    EXPECT_EQ(run.network.facts().output_names, (std::vector<std::string>{"price", "mass"}));
    const Evaluation found = evaluate(run.network, data);
    EXPECT_GT(metric(found, "r2"), 0.9) << word(loss);
    EXPECT_GT(found.by_output[0][0].value, 0.9) << "the value that is about 1000";
    EXPECT_GT(found.by_output[1][0].value, 0.9) << "the value that is about -0.003";
    EXPECT_NEAR(metric(found, "r2"), run.test_score, 0.005)
        << "one is a mean over values, one of all together";
    EXPECT_LT(found.by_output[0][1].value, 30) << "RMSE in units of the first value, whose deviation is 130";
  }
}

TEST(Targets, LabelsAreLearnedEachForItself) {
  for (const Kind kind : kKinds) {
    const Data data = wrap(rows_with_targets(Task::labels, 3000, 2, kind));
    const TrainRun run = train(data, quick());
    EXPECT_EQ(run.network.task(), Task::labels);
    const Evaluation found = evaluate(run.network, data);
    EXPECT_GT(found.score, 0.85);
    EXPECT_NEAR(found.score, run.test_score, 0.01);
    EXPECT_GT(metric(found, "roc_auc"), 0.9);
  }
}

TEST(Targets, TwoClassesTakeOneOutput) {
  Dataset set = separable_data(Kind::floats, 600, 2, 3);
  set.target_names = {"no", "yes"};
  const Data data = wrap(std::move(set));
  TrainOptions options = quick(10);
  options.learning.loss = Loss::binary_cross_entropy;
  const TrainRun run = train(data, options);
  EXPECT_EQ(run.network.outputs(), 1);
  EXPECT_EQ(run.network.task(), Task::classes);
  const Evaluation found = evaluate(run.network, data);
  EXPECT_EQ(found.accuracy, 1);
  EXPECT_EQ(found.rows_by_class.size(), 2u);
  EXPECT_EQ(run.test_score, 1);
  InputTable inputs{2, data.features(), {}, std::vector<float>(std::size_t{2} * data.features(), 0.0f)};
  for (Index f = 0; f < 4; ++f) inputs.floats[f] = 2;                    // the first class
  for (Index f = 4; f < 8; ++f) inputs.floats[data.features() + f] = 2;  // the second
  const Predictions said = predict(compile(run.network), inputs);
  EXPECT_EQ(said.outputs, 2);
  EXPECT_EQ(said.best, (std::vector<Index>{0, 1}));
  EXPECT_EQ(said.name(said.best[1]), "yes");
  EXPECT_NEAR(said.values[0] + said.values[1], 1, 0x1p-23);
  EXPECT_GT(said.values[0], 0.9);
}

TEST(Targets, TrainingGoesOnFromAStateBitByBit) {
  const Data data = wrap(rows_with_targets(Task::values, 500, 4));
  TrainOptions options = quick(4);
  options.run.validation = 0.2;
  options.run.patience = 3;
  Trainer whole(data, options);
  Trainer first(data, options);
  while (!whole.done()) whole.epoch();
  first.epoch();
  first.epoch();
  Trainer second(data, first.state());
  while (!second.done()) second.epoch();
  EXPECT_EQ(to_bytes(whole.network()), to_bytes(second.network()));
}

TEST(Targets, ANetworkOfValuesIsTrainedFurther) {
  const Data data = wrap(rows_with_targets(Task::values, 1000, 5));
  const TrainRun run = train(data, quick());
  Trainer further(run.network, data, quick(1));
  const Network same = further.network();
  for (Index l = 0; l < same.layers(); ++l) {
    const LayerView a = run.network.layer(l), b = same.layer(l);
    ASSERT_EQ(a.value.size(), b.value.size());
    // There and back: two products of one rounding each; a bias is moved by the mean as well.
    for (std::size_t i = 0; i < a.value.size(); ++i)
      EXPECT_NEAR(a.value[i], b.value[i], std::abs(a.value[i]) * 4 * 0x1p-24);
    for (std::size_t i = 0; i < a.bias.size(); ++i)
      EXPECT_NEAR(a.bias[i], b.bias[i], (std::abs(a.bias[i]) + 1100) * 4 * 0x1p-24);
  }
  EXPECT_NEAR(further.evaluate(Part::test).score, run.test_score, 1e-3);
}

TEST(Targets, RowsWithoutWeightTeachNothing) {
  // Half of the rows have the wrong class; they weigh nothing.
  Dataset set = separable_data(Kind::floats, 400, 2, 6);
  Dataset spoilt = set;
  for (Index r = 0; r < 400; ++r) {
    const bool wrong = r % 2 == 0 ? r % 4 == 0 : r % 4 == 1;
    spoilt.train.weight.push_back(wrong ? 0.0f : 3.0f);
    if (wrong) spoilt.train.label[r] = 1 - spoilt.train.label[r];
  }
  EXPECT_EQ(train(wrap(spoilt), quick(20)).test_score, 1);
}

TEST(Targets, WeightsOfOneChangeNoBit) {
  Dataset set = separable_data(Kind::floats, 300, 3, 7), weighed = set;
  weighed.train.weight.assign(300, 2.0f);
  EXPECT_EQ(to_bytes(train(wrap(set), quick(3)).network), to_bytes(train(wrap(weighed), quick(3)).network));
}

TEST(Targets, BalancedClassesCountTheSame) {
  Dataset set = separable_data(Kind::floats, 100, 2, 8);
  for (Index r = 0; r < 100; ++r) set.train.label[r] = r < 80 ? 0 : 1;
  std::vector<Index> rows(100);
  for (Index r = 0; r < 100; ++r) rows[r] = r;
  LearningOptions options;
  EXPECT_TRUE(targets_of(set, options, rows).weight.empty());
  options.balanced = true;
  const std::vector<float> weight = targets_of(set, options, rows).weight;
  EXPECT_FLOAT_EQ(weight[0], 100 / (2 * 80.0f));
  EXPECT_FLOAT_EQ(weight[99], 100 / (2 * 20.0f));
  options = {.class_weights = {1, 3}};
  const std::vector<float> given = targets_of(set, options, rows).weight;
  EXPECT_FLOAT_EQ(given[99], 3 * given[0]);
  EXPECT_FLOAT_EQ(80 * given[0] + 20 * given[99], 100) << "one in the mean";
}

TEST(Targets, RefusesWhatCannotBeLearned) {
  Dataset constant = rows_with_targets(Task::values, 20, 9);
  for (std::size_t r = 0; r < 20; ++r) constant.train.target[2 * r + 1] = 5;
  EXPECT_EQ(error_of([&] { (void)train(wrap(constant), quick(1)); }),
            "made rows: mass is 5 in all 20 training rows, so there is nothing to learn");
  const Data values = wrap(rows_with_targets(Task::values, 20, 9));
  TrainOptions options = quick(1);
  options.learning.loss = Loss::binary_cross_entropy;
  EXPECT_EQ(
      error_of([&] { (void)train(values, options); }),
      "made rows has 2 values, which are not learned by the loss binary-cross-entropy; it may be squared");
  options = quick(1);
  options.learning.balanced = true;
  EXPECT_EQ(error_of([&] { (void)train(values, options); }),
            "weights of classes, but made rows has 2 values");
  options = quick(1);
  options.learning.class_weights = {1, 2, 3};
  const Data classes = wrap(separable_data(Kind::floats, 60, 2, 1));
  EXPECT_EQ(error_of([&] { (void)train(classes, options); }),
            "3 class weights, but separable rows has 2 classes");
  Dataset weightless = separable_data(Kind::floats, 60, 2, 1);
  weightless.train.weight.assign(60, 0.0f);
  EXPECT_EQ(error_of([&] { (void)train(wrap(weightless), quick(1)); }),
            "separable rows: the weights of all 60 training rows together are 0");
}

TEST(Watch, StopsByTheMetricThatIsAskedFor) {
  const Data data = wrap(separable_data(Kind::floats, 200, 3, 10));
  for (const Watch watch : {Watch::loss, Watch::accuracy, Watch::f1_macro, Watch::roc_auc, Watch::log_loss}) {
    TrainOptions options = quick(6);
    options.run.validation = 0.2;
    options.run.patience = 2;
    options.run.metric = watch;
    const TrainRun run = train(data, options);
    EXPECT_EQ(std::isnan(run.epochs.back().validation_metric), watch == Watch::loss) << word(watch);
    EXPECT_GE(run.best_epoch, 1);
  }
  TrainOptions options = quick(2);
  options.run.validation = 0.2;
  options.run.patience = 2;
  options.run.metric = Watch::r2;
  EXPECT_EQ(error_of([&] { (void)train(data, options); }),
            "the validation rows of separable rows, with 3 classes, have no r2");
}

}  // namespace
}  // namespace filigree::internal
