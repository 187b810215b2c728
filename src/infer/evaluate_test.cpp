// SPDX-License-Identifier: Apache-2.0
// Tests of data sets behind the API and of evaluation on them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "data/data.h"
#include "filigree/evaluate.h"
#include "network/test_networks.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// Outputs are the inputs.
Network same(Index width, const NetworkFacts& facts = {.loss = Loss::cross_entropy}) {
  CsrMatrix w;
  w.rows = w.cols = width;
  for (Index n = 0; n < width; ++n) {
    w.column.push_back(n);
    w.value.push_back(1);
    w.row_begin.push_back(n + 1);
  }
  return in_memory({{std::move(w), std::vector<float>(width, 0.0f), Activation::identity}}, facts);
}

Data wrap(DataRows train, std::vector<std::string> names = {}) {
  Data::Impl impl;
  impl.dataset.target_names = std::move(names);
  impl.dataset.name = "rows";
  impl.dataset.classes = 2;
  impl.dataset.test.features = train.features;
  impl.dataset.train = std::move(train);
  return Data(std::make_shared<Data::Impl>(std::move(impl)));
}

TEST(Data, DescribesItselfAndKeepsItsRows) {
  const std::vector<float> values(3000, 0.5f);
  std::vector<Index> labels(1500, 0);
  labels[7] = 3;
  const Data data = make_data(values, labels, 2);
  EXPECT_EQ(data.describe(), "data in memory: 1,500 rows of 2 features, 4 classes");
  EXPECT_EQ(data.features(), 2);
  EXPECT_EQ(data.classes(), 4);
  EXPECT_EQ(data.train_rows(), 1500);
  EXPECT_EQ(data.test_rows(), 0);
}

TEST(Data, RefusesArraysThatDoNotFit) {
  const std::vector<float> values{1, 2, 3};
  const std::vector<Index> two{0, 1}, negative{0, -1, 0}, huge{0, 0, 2147483647};
  EXPECT_THROW((void)make_data(values, two, 1), std::invalid_argument);
  EXPECT_THROW((void)make_data(values, two, 0), std::invalid_argument);
  EXPECT_THROW((void)make_data({}, {}, 1), std::invalid_argument);
  EXPECT_EQ(error_of([&] { (void)make_data(values, negative, 1); }),
            "label of row 1 is -1, but labels are 0, 1, … up to 65535");
  EXPECT_EQ(error_of([&] { (void)make_data(values, huge, 1); }),
            "label of row 2 is 2147483647, but labels are 0, 1, … up to 65535");
  const std::vector<float> odd{1, 2, 3, -INFINITY};
  EXPECT_EQ(error_of([&] { (void)make_data(odd, two, 2); }), "feature 1 of row 1 is -inf");
}

TEST(Data, LoadsDrawnDigits) {
  DataOptions options;
  options.source = "digits:50";
  const Data data = load_data(options);
  EXPECT_EQ(data.train_rows(), 50);
  EXPECT_EQ(data.classes(), 10);
  EXPECT_NE(complaint_of([&] { (void)load_data({.source = "nonsense:50"}); }).find("nonsense"),
            std::string::npos);
}

TEST(Evaluate, CountsRightRowsAndAddsUpCrossEntropyByHand) {
  // Right by 1, wrong by 2, and a tie: the first of equals counts.
  const std::vector<float> values{1, 0, 2, 0, 5, 5};
  const std::vector<Index> labels{0, 1, 1};
  const Evaluation found = evaluate(same(2), make_data(values, labels, 2), {Part::train});
  EXPECT_EQ(found.rows, 3);
  EXPECT_DOUBLE_EQ(found.accuracy, 1.0 / 3);
  EXPECT_EQ(found.wrong_by_class, (std::vector<Index>{0, 2}));
  EXPECT_EQ(found.rows_by_class, (std::vector<Index>{1, 2}));
  const double expected = (std::log1p(std::exp(-1.0)) + 2 + std::log1p(std::exp(-2.0)) + std::log(2.0)) / 3;
  EXPECT_NEAR(found.loss, expected, 1e-12);
  EXPECT_GT(found.seconds, 0);
}

TEST(Evaluate, AddsUpHalfTheSquaredErrorsForMse) {
  const std::vector<float> values{1, 0, 0.5f, 0.25f};
  const std::vector<Index> labels{0, 1};
  const Evaluation found =
      evaluate(same(2, {.loss = Loss::mse}), make_data(values, labels, 2), {Part::train});
  EXPECT_DOUBLE_EQ(found.loss, (0 + 0.5 * (0.25 + 0.5625)) / 2);
  EXPECT_DOUBLE_EQ(found.accuracy, 0.5);
}

TEST(Evaluate, GivesTheMetricsOfItsRows) {
  // Taken for 0, 0 and the first of equals, 0; the labels are 0, 1, 1.
  const std::vector<float> values{1, 0, 2, 0, 5, 5};
  const std::vector<Index> labels{0, 1, 1};
  const Evaluation found = evaluate(same(2), make_data(values, labels, 2), {Part::train});
  EXPECT_EQ(found.confusion, (std::vector<Offset>{1, 0, 2, 0}));
  const auto value = [&](const char* name) {
    const auto at = std::ranges::find(found.metrics, name, &Metric::name);
    return at == found.metrics.end() ? -1.0 : at->value;
  };
  EXPECT_DOUBLE_EQ(value("accuracy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(value("balanced_accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(value("f1_macro"), 0.25);
  EXPECT_DOUBLE_EQ(value("f1_weighted"), 0.5 / 3);
  EXPECT_DOUBLE_EQ(value("log_loss"), found.loss);
  // Probabilities of class 1: 0.27, 0.12 and 0.5.
  EXPECT_DOUBLE_EQ(value("roc_auc"), 0.5);
  EXPECT_DOUBLE_EQ(value("average_precision"), (1 + 2.0 / 3) / 2);
  const Evaluation short_one =
      evaluate(same(2), make_data(values, labels, 2), {.part = Part::train, .ranks = false});
  EXPECT_EQ(short_one.metrics.size(), 5u);
}

TEST(Evaluate, OfAPlanIsThatOfItsNetwork) {
  const std::vector<float> values{1, 0, 2, 0, 5, 5};
  const std::vector<Index> labels{0, 1, 1};
  const Data data = make_data(values, labels, 2);
  const Evaluation by_network = evaluate(same(2), data, {Part::train});
  const Evaluation by_plan = evaluate(compile(same(2)), data, {Part::train});
  EXPECT_EQ(by_plan.loss, by_network.loss);
  EXPECT_EQ(by_plan.wrong_by_class, by_network.wrong_by_class);
}

TEST(Evaluate, SurvivesOutputsThatOverflowAnExponential) {
  const std::vector<float> values{1000, -1000, -1000, 1000};
  const std::vector<Index> labels{0, 0};
  const Evaluation found = evaluate(same(2), make_data(values, labels, 2), {Part::train});
  EXPECT_DOUBLE_EQ(found.loss, 1000);
}

TEST(Evaluate, CountsRowsWithNanAsWrong) {
  // inf - inf in the second layer.
  const Network network =
      make_network({{1, 2, {0, 1, 2}, {0, 0}, {3e38f, 2e38f}, {0, 0}, Activation::identity},
                    {2, 2, {0, 2, 2}, {0, 1}, {1, -1}, {0, 2}, Activation::identity}});
  const std::vector<float> values{10, 1e-38f};
  const std::vector<Index> labels{0, 1};
  const Evaluation found = evaluate(network, make_data(values, labels, 1), {Part::train});
  EXPECT_EQ(found.wrong_by_class, (std::vector<Index>{1, 0}));
  EXPECT_TRUE(std::isnan(found.loss));
}

TEST(Evaluate, GivesTheSameForBytesFloatsAndSparseRowsScaledOrNot) {
  constexpr Index kRows = 500, kFeatures = 30;
  Random random(3);
  DataRows bytes, floats, sparse;
  for (DataRows* part : {&bytes, &floats, &sparse}) {
    part->rows = kRows;
    part->features = kFeatures;
  }
  bytes.bytes = Buffer<std::uint8_t>(kRows * kFeatures);
  floats.floats = Buffer<float>(kRows * kFeatures);
  sparse.row_begin = {0};
  std::vector<Index> column;
  std::vector<float> stored;
  for (Index r = 0; r < kRows; ++r) {
    for (Index f = 0; f < kFeatures; ++f) {
      const auto value = static_cast<std::uint8_t>(random.below(4) == 0 ? random.below(256) : 0);
      const std::size_t at = r * kFeatures + f;
      bytes.bytes[at] = value;
      floats.floats[at] = value;
      if (value == 0) continue;
      column.push_back(f);
      stored.push_back(value);
    }
    sparse.row_begin.push_back(std::ssize(column));
    for (DataRows* part : {&bytes, &floats, &sparse}) part->label.push_back(r % 2);
  }
  sparse.column = buffer_of(column);
  sparse.value = buffer_of(stored);
  const std::vector<Layer> layers{
      {random_csr(20, kFeatures, 0.5, 1), std::vector<float>(20, 0.1f), Activation::tanh},
      {random_csr(5, 20, 0.9, 2), std::vector<float>(5, 0.0f), Activation::identity}};
  const Network plain = in_memory(layers);
  const Network scaled = in_memory(layers, {.scaling = {std::vector<float>(kFeatures, 30), {0.01f}}});
  const Data by_bytes = wrap(bytes), by_floats = wrap(floats), by_sparse = wrap(sparse);
  for (const Network* network : {&plain, &scaled}) {
    const Evaluation expected = evaluate(*network, by_bytes, {Part::train});
    EXPECT_GT(expected.accuracy, 0);
    for (const Data* data : {&by_floats, &by_sparse}) {
      const Evaluation found = evaluate(*network, *data, {Part::train});
      EXPECT_EQ(found.loss, expected.loss);
      EXPECT_EQ(found.wrong_by_class, expected.wrong_by_class);
    }
  }
  EXPECT_NE(evaluate(plain, by_bytes, {Part::train}).loss, evaluate(scaled, by_bytes, {Part::train}).loss);
}

TEST(Evaluate, FindsClassesByTheLabelsOfTheFiles) {
  // Rows that say output 1, then 2, of a network for classes called 1, 5 and seven.
  const auto data = [](std::vector<std::string> labels) {
    DataRows rows;
    rows.rows = 2;
    rows.features = 3;
    rows.floats = Buffer<float>(6);
    std::ranges::copy(std::vector<float>{0, 1, 0, 0, 0, 1}, rows.floats.begin());
    rows.label = {0, 1};
    return wrap(std::move(rows), std::move(labels));
  };
  const Network network = same(3, {.loss = Loss::cross_entropy, .output_names = {"1", "5", "seven"}});
  EXPECT_EQ(evaluate(network, data({"5", "seven"}), {Part::train}).accuracy, 1);
  EXPECT_EQ(evaluate(network, data({"1", "5"}), {Part::train}).accuracy, 0);
  EXPECT_EQ(evaluate(network, data({"1", "seven"}), {Part::train}).wrong_by_class,
            (std::vector<Index>{1, 0, 0}));
  EXPECT_EQ(error_of([&] {
              (void)evaluate(network, data({"5", "6"}), {Part::train});
            }),
            "rows: there is a row of class \"6\", but the network knows 1, 5, seven");
  EXPECT_EQ(evaluate(same(3), data({"1", "2"}), {Part::train}).accuracy, 1) << "classes called 0, 1, 2";
  EXPECT_EQ(error_of([&] {
              (void)evaluate(same(3), data({"2", "3"}), {Part::train});
            }),
            "rows: there is a row of class 3, but the network knows 0 to 2");
}

TEST(Evaluate, TakesSparseRowsOfAnyWidth) {
  // Two neurons read the first and the last of 200,000 columns. The rows' file knows fewer columns.
  const Network network =
      make_network({{200000, 2, {0, 1, 2}, {0, 150000}, {1, 1}, {0, 0}, Activation::identity}});
  DataRows rows;
  rows.rows = 3;
  rows.features = 150001;
  rows.row_begin = {0, 1, 2, 4};
  rows.column = buffer_of(std::vector<Index>{0, 150000, 0, 150000});
  rows.value = buffer_of(std::vector<float>{1, 1, 1, 2});
  rows.label = {0, 1, 0};
  const Evaluation found = evaluate(network, wrap(rows), {Part::train});
  EXPECT_EQ(found.wrong_by_class, (std::vector<Index>{1, 0}));
}

TEST(Evaluate, RefusesDataThatDoNotFit) {
  const std::vector<float> values{1, 0, 2, 0};
  const std::vector<Index> labels{0, 2};
  const Data data = make_data(values, labels, 2);
  EXPECT_EQ(error_of([&] { (void)evaluate(same(5), data, {Part::train}); }),
            "data in memory: 2 features a row, but the network has 5 inputs");
  EXPECT_EQ(error_of([&] { (void)evaluate(same(2), data, {Part::train}); }),
            "data in memory: 3 classes, but the network has 2 outputs");
  EXPECT_THROW((void)evaluate(same(2), data, {Part::test}), std::invalid_argument);
  DataRows unlabelled;
  unlabelled.rows = 1;
  unlabelled.features = 2;
  unlabelled.floats = Buffer<float>(2);
  unlabelled.floats.zero();
  EXPECT_EQ(error_of([&] { (void)evaluate(same(2), wrap(unlabelled), {Part::train}); }),
            "rows: the training rows have no labels");
}

}  // namespace
}  // namespace filigree::internal
