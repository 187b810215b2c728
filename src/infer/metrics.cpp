// SPDX-License-Identifier: Apache-2.0
#include "infer/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/parallel.h"

namespace filigree::internal {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Rows by falling score.
std::vector<std::uint32_t> by_score(std::span<const float> score) {
  std::vector<std::uint32_t> order(score.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return score[a] > score[b]; });
  return order;
}

// Calls visit(positives, rows) for each score, with how many of the rows that have it are positive.
template <typename Visit>
void for_each_score(std::span<const float> score, std::span<const char> positive, const Visit& visit) {
  const std::vector<std::uint32_t> order = by_score(score);
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    double positives = 0;
    for (; end < order.size() && score[order[end]] == score[order[first]]; ++end)
      positives += positive[order[end]] != 0 ? 1 : 0;
    visit(positives, static_cast<double>(end - first));
    first = end;
  }
}

}  // namespace

ConfusionMatrix::OfClass ConfusionMatrix::of_class(Index c) const {
  OfClass result;
  const std::size_t classes = classes_;
  for (std::size_t o = 0; o < classes; ++o) {
    result.rows += count_[c * classes + o];
    result.predicted += count_[o * classes + c];
  }
  result.right = count_[c * classes + c];
  if (!unpredicted_.empty()) result.rows += unpredicted_[c];
  return result;
}

std::vector<Index> ConfusionMatrix::rows_by_class() const {
  std::vector<Index> rows;
  for (Index c = 0; c < classes_; ++c) rows.push_back(static_cast<Index>(of_class(c).rows));
  return rows;
}

std::vector<Index> ConfusionMatrix::wrong_by_class() const {
  std::vector<Index> wrong;
  for (Index c = 0; c < classes_; ++c) {
    const OfClass of = of_class(c);
    wrong.push_back(static_cast<Index>(of.rows - of.right));
  }
  return wrong;
}

double ConfusionMatrix::accuracy() const {
  double right = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(classes_); ++c) right += count_[c * classes_ + c];
  return right / rows_;
}

double ConfusionMatrix::balanced_accuracy() const {
  double sum = 0, classes = 0;
  for (Index c = 0; c < classes_; ++c) {
    const OfClass of = of_class(c);
    if (of.rows == 0) continue;
    sum += of.right / of.rows;
    ++classes;
  }
  return sum / classes;
}

double ConfusionMatrix::f1_macro() const {
  double sum = 0, classes = 0;
  for (Index c = 0; c < classes_; ++c) {
    const OfClass of = of_class(c);
    if (of.rows + of.predicted == 0) continue;
    sum += of.f1();
    ++classes;
  }
  return sum / classes;
}

double ConfusionMatrix::f1_weighted() const {
  double sum = 0;
  for (Index c = 0; c < classes_; ++c) {
    const OfClass of = of_class(c);
    sum += of.rows * of.f1();
  }
  return sum / rows_;
}

double roc_auc(std::span<const float> score, std::span<const char> positive) {
  double positives = 0, negatives = 0, area = 0;  // pairs in which the positive row is ahead
  for_each_score(score, positive, [&](double right, double rows) {
    const double wrong = rows - right;
    area += wrong * (positives + right / 2);
    positives += right;
    negatives += wrong;
  });
  return positives == 0 || negatives == 0 ? kNone : area / (positives * negatives);
}

double average_precision(std::span<const float> score, std::span<const char> positive) {
  double positives = 0, seen = 0, sum = 0;
  for_each_score(score, positive, [&](double right, double rows) {
    positives += right;
    seen += rows;
    sum += right * positives / seen;
  });
  return positives == 0 ? kNone : sum / positives;
}

void ValueErrors::add(double output, double target) {
  const double error = output - target, difference = target - mean_;
  ++rows_;
  squares_ += error * error;
  magnitudes_ += std::abs(error);
  mean_ += difference / rows_;
  variation_ += difference * (target - mean_);
}

double ValueErrors::rmse() const {
  return std::sqrt(squares_ / rows_);
}

double ValueErrors::mae() const {
  return magnitudes_ / rows_;
}

double ValueErrors::r2() const {
  if (variation_ == 0) return squares_ == 0 ? 1 : 0;
  return 1 - squares_ / variation_;
}

void LabelCounts::add(bool is, bool said) {
  ++rows;
  positive += is ? 1 : 0;
  predicted += said ? 1 : 0;
  right_positive += is && said ? 1 : 0;
  right += is == said ? 1 : 0;
}

RankMetrics rank_metrics(std::span<const float> scores, Index classes, std::span<const Index> label) {
  const std::size_t rows = label.size(), width = classes;
  const std::size_t first = classes == 2 ? 1 : 0;
  std::vector<RankMetrics> of(width);
  parallel_for(width - first, 1, [&](std::size_t begin, std::size_t end) {
    std::vector<float> own(rows);
    std::vector<char> positive(rows);
    for (std::size_t c = first + begin; c < first + end; ++c) {
      for (std::size_t r = 0; r < rows; ++r) {
        own[r] = scores[r * width + c];
        positive[r] = static_cast<std::size_t>(label[r]) == c ? 1 : 0;
      }
      of[c] = {roc_auc(own, positive), average_precision(own, positive)};
    }
  });
  RankMetrics sum;
  double counted = 0;
  for (std::size_t c = first; c < width; ++c) {
    if (of[c].roc_auc != of[c].roc_auc) continue;  // NaN: rows of one kind
    sum.roc_auc += of[c].roc_auc;
    sum.average_precision += of[c].average_precision;
    ++counted;
  }
  return counted == 0 ? RankMetrics{kNone, kNone}
                      : RankMetrics{sum.roc_auc / counted, sum.average_precision / counted};
}

}  // namespace filigree::internal
