// SPDX-License-Identifier: Apache-2.0
// Metrics by hand, and against their definitions written out.
#include "infer/metrics.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

namespace filigree::internal {
namespace {

TEST(ConfusionMatrix, ScoresByHand) {
  // Labels 0 1 2 0 1 2, predictions 0 2 1 0 0 1: the example of scikit-learn's documentation of f1_score.
  ConfusionMatrix matrix(3);
  const Index labels[] = {0, 1, 2, 0, 1, 2}, predicted[] = {0, 2, 1, 0, 0, 1};
  for (int i = 0; i < 6; ++i) matrix.add(labels[i], predicted[i]);
  EXPECT_DOUBLE_EQ(matrix.f1_macro(), (0.8 + 0 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.f1_weighted(), (0.8 + 0 + 0) / 3);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(matrix.balanced_accuracy(), 1.0 / 3);
  EXPECT_EQ(matrix.counts(), (std::vector<Offset>{2, 0, 0, 1, 0, 1, 0, 2, 0}));
}

TEST(ConfusionMatrix, CountsRowsWithoutAPredictionAsWrong) {
  ConfusionMatrix matrix(2);
  matrix.add(0, 0);
  matrix.add(0, -1);
  matrix.add(1, 1);
  EXPECT_DOUBLE_EQ(matrix.accuracy(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(matrix.balanced_accuracy(), 0.75);
  EXPECT_DOUBLE_EQ(matrix.f1_macro(), (2.0 / 3 + 1) / 2);
}

TEST(ConfusionMatrix, LeavesOutClassesThatNobodyHas) {
  ConfusionMatrix matrix(4);
  matrix.add(0, 0);
  matrix.add(0, 3);  // class 3 has no rows, but a prediction; class 1 has neither
  matrix.add(2, 2);
  EXPECT_DOUBLE_EQ(matrix.balanced_accuracy(), (0.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(matrix.f1_macro(), (2.0 / 3 + 1 + 0) / 3);
}

TEST(Ranks, ScoreByHand) {
  // The example of scikit-learn's documentation.
  const std::vector<float> score{0.1f, 0.4f, 0.35f, 0.8f};
  const std::vector<char> positive{0, 0, 1, 1};
  EXPECT_DOUBLE_EQ(roc_auc(score, positive), 0.75);
  EXPECT_DOUBLE_EQ(average_precision(score, positive), (1 + 2.0 / 3) / 2);
  EXPECT_TRUE(std::isnan(roc_auc(score, std::vector<char>{1, 1, 1, 1})));
  EXPECT_TRUE(std::isnan(average_precision(score, std::vector<char>{0, 0, 0, 0})));
}

TEST(Ranks, AreTheirDefinitions) {
  rc::check([] {
    const auto rows = *rc::gen::inRange<std::size_t>(2, 40);
    const auto steps = *rc::gen::container<std::vector<int>>(rows, rc::gen::inRange(0, 8));  // many ties
    const auto marks = *rc::gen::container<std::vector<int>>(rows, rc::gen::inRange(0, 2));
    const std::vector<float> score(steps.begin(), steps.end());
    const std::vector<char> positive(marks.begin(), marks.end());
    double ahead = 0, pairs = 0, positives = 0, mean = 0;
    for (std::size_t a = 0; a < rows; ++a) {
      positives += positive[a];
      for (std::size_t b = 0; b < rows; ++b) {
        if (!positive[a] || positive[b]) continue;
        ++pairs;
        ahead += score[a] > score[b] ? 1 : score[a] == score[b] ? 0.5 : 0;
      }
    }
    for (std::size_t a = 0; a < rows; ++a) {  // the precision among rows that score as a does, or higher
      if (!positive[a]) continue;
      double right = 0, seen = 0;
      for (std::size_t b = 0; b < rows; ++b) {
        if (score[b] < score[a]) continue;
        ++seen;
        right += positive[b];
      }
      mean += right / seen;
    }
    if (pairs > 0) RC_ASSERT(std::abs(roc_auc(score, positive) - ahead / pairs) < 1e-12);
    if (positives > 0) RC_ASSERT(std::abs(average_precision(score, positive) - mean / positives) < 1e-12);
  });
}

TEST(Ranks, OfSeveralClassesAreMeansOverThoseThatOccur) {
  const std::vector<float> scores{0.7f, 0.2f, 0.1f, 0.3f, 0.6f, 0.1f, 0.5f, 0.4f, 0.1f};
  const std::vector<Index> label{0, 1, 1};  // nobody is of class 2
  const RankMetrics found = rank_metrics(scores, 3, label);
  EXPECT_DOUBLE_EQ(found.roc_auc, 1);
  EXPECT_DOUBLE_EQ(found.average_precision, 1);
  const std::vector<float> two{0.9f, 0.1f, 0.2f, 0.8f, 0.4f, 0.6f};
  EXPECT_DOUBLE_EQ(rank_metrics(two, 2, std::vector<Index>{0, 1, 0}).roc_auc, 1);
  EXPECT_DOUBLE_EQ(rank_metrics(two, 2, std::vector<Index>{0, 0, 1}).roc_auc, 0.5);
  EXPECT_TRUE(std::isnan(rank_metrics(two, 2, std::vector<Index>{1, 1, 1}).roc_auc));
}

}  // namespace
}  // namespace filigree::internal
