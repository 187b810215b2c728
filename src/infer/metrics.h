// SPDX-License-Identifier: Apache-2.0
// How good predicted classes are, as scikit-learn defines the same names.
#pragma once

#include <span>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// Counts of rows by class and prediction. Predictions that are none (-1) are rows of a class all the same.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(Index classes) : classes_(classes), count_(std::size_t{1} * classes * classes) {}

  void add(Index label, Index predicted) {
    ++rows_;
    if (predicted < 0)
      ++unpredicted_of_class(label);
    else
      ++count_[label * std::size_t{1} * classes_ + predicted];
  }
  Index classes() const { return classes_; }
  const std::vector<Offset>& counts() const { return count_; }  // classes × classes, a row for each class

  std::vector<Index> rows_by_class() const;
  std::vector<Index> wrong_by_class() const;
  double accuracy() const;
  // The mean of the recalls of the classes that have rows.
  double balanced_accuracy() const;
  // The mean of the F1 scores of the classes that have rows or predictions; weighted: by rows. A class
  // without a right prediction scores 0.
  double f1_macro() const;
  double f1_weighted() const;

 private:
  struct OfClass {
    double rows = 0, predicted = 0, right = 0;
    double f1() const { return right == 0 ? 0 : 2 * right / (rows + predicted); }
  };
  OfClass of_class(Index c) const;
  Offset& unpredicted_of_class(Index c) {
    if (unpredicted_.empty()) unpredicted_.assign(classes_, 0);
    return unpredicted_[c];
  }

  Index classes_;
  std::vector<Offset> count_, unpredicted_;
  Offset rows_ = 0;
};

// Of the scores of rows that are positive or not: the probability that a positive row has the higher one,
// ties counting half. NaN if there are only rows of one kind.
double roc_auc(std::span<const float> score, std::span<const char> positive);
// The mean of the precisions at each score, weighted by the rise of the recall there. NaN if no row is
// positive.
double average_precision(std::span<const float> score, std::span<const char> positive);

// The same of rows × classes scores. Two classes: of the second one. More: the mean over the classes that
// have rows of both kinds, each against all others. NaN if there is none.
struct RankMetrics {
  double roc_auc = 0, average_precision = 0;
};
RankMetrics rank_metrics(std::span<const float> scores, Index classes, std::span<const Index> label);

// One output of a network that gives values, over many rows.
class ValueErrors {
 public:
  void add(double output, double target);
  double rmse() const;
  double mae() const;
  // 1 - squared errors / squared differences of the targets from their mean. Where targets do not differ: 1
  // without any error, else 0.
  double r2() const;

 private:
  double rows_ = 0, squares_ = 0, magnitudes_ = 0;
  double mean_ = 0, variation_ = 0;  // of the targets; Welford's sums, which lose no digits to a large mean
};

// One output of a network that gives labels, over many rows; true and predicted, each yes or no.
struct LabelCounts {
  double rows = 0, positive = 0, predicted = 0, right_positive = 0, right = 0;

  void add(bool is, bool said);
  double f1() const { return right_positive == 0 ? 0 : 2 * right_positive / (positive + predicted); }
};

}  // namespace filigree::internal
