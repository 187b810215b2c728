// SPDX-License-Identifier: Apache-2.0
#include "filigree/evaluate.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/data.h"
#include "infer/column_order.h"
#include "infer/metrics.h"
#include "infer/outputs.h"
#include "infer/rows_loader.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

namespace {

constexpr std::size_t kOutputsAtATime = std::size_t{1} << 24;  // floats: 64 MiB of outputs in memory

void check_fit(const Plan& plan, const Data& data, const DataRows& rows, const char* part) {
  if (rows.rows == 0)
    throw std::invalid_argument(fmt::format("{}: there are no {} rows", data.impl().dataset.name, part));
  if (rows.label.empty()) fail("{}: the {} rows have no labels", data.impl().dataset.name, part);
  // A sparse file says nothing about columns that are zero in all its rows.
  if (rows.features > plan.inputs() || (!rows.sparse() && rows.features < plan.inputs()))
    fail("{}: {} features a row, but the network has {} inputs", data.impl().dataset.name, rows.features,
         plan.inputs());
  if (data.classes() > plan.outputs())
    fail("{}: {} classes, but the network has {} outputs", data.impl().dataset.name, data.classes(),
         plan.outputs());
}

// For each class of the data, the network's output for it. Files number their classes each for itself, so
// labels as they are in the files decide, where the network knows those of its own data.
std::vector<Index> outputs_for(const Plan& plan, const Dataset& data) {
  const std::vector<Index>& known = plan.facts().class_labels;
  std::vector<Index> output;
  for (Index c = 0; c < data.classes; ++c) {
    const Index label = data.class_label.empty() ? c : data.class_label[c];
    if (known.empty()) {
      // Trained on classes called 0, 1, …, or made by another program: numbers are all there is.
      const bool trained = plan.facts().loss.has_value();
      output.push_back(trained ? label : c);
      if (output.back() < 0 || output.back() >= plan.outputs())
        fail("{}: there is a row of class {}, but the network knows 0 to {}", data.name, label,
             plan.outputs() - 1);
      continue;
    }
    const auto at = std::ranges::lower_bound(known, label);
    if (at == known.end() || *at != label)
      fail("{}: there is a row of class {}, but the network knows {}{}", data.name, label,
           fmt::join(std::span(known).first(std::min<std::size_t>(known.size(), 10)), ", "),
           known.size() > 10 ? ", …" : "");
    output.push_back(at - known.begin());
  }
  return output;
}

// The rows with the given columns.
DataRows in_order(const DataRows& rows, std::span<const Index> order) {
  DataRows result;
  result.rows = rows.rows;
  result.features = order.size();
  result.label = rows.label;
  result.floats = Buffer<float>(rows.rows * order.size());
  const std::size_t width = rows.features;
  for (std::size_t i = 0; i < result.floats.size(); ++i)
    result.floats[i] = rows.floats[i / order.size() * width + order[i % order.size()]];
  return result;
}

// Adds up how well a network does on the rows of one part after the other.
class Scores {
 public:
  Scores(const Plan& plan, std::span<const Index> output_of_class, bool ranks)
      : plan_(plan),
        output_of_class_(output_of_class),
        width_(static_cast<std::size_t>(plan.outputs())),
        ranks_(ranks),
        confusion_(plan.outputs()) {
    result_.wrong_by_class.assign(width_, 0);
    result_.rows_by_class.assign(width_, 0);
  }

  void add(const DataRows& rows, const Observer& observer) {
    const Loss loss = plan_.facts().loss.value_or(Loss::cross_entropy);
    const auto output_of_row = [&](std::size_t row) { return output_of_class_[rows.label[row]]; };
    const std::size_t total = rows.rows;
    const std::size_t batch = std::max<std::size_t>(kPanelRows, kOutputsAtATime / width_);
    ranks_ = ranks_ && (result_.rows + total) * width_ <= kMostRanked;
    result_.rows += rows.rows;
    for (std::size_t first = 0; first < total; first += batch) {
      const std::size_t count = std::min(batch, total - first);
      const double start = seconds_now();
      auto outputs = plan_.impl().run(count, loader_of(rows, first, count, plan_.impl()), observer, &work_);
      result_.seconds += seconds_now() - start;
      std::vector<double> row_losses(count);  // added up in the order of rows, whatever the threads
      std::vector<Index> best(count);
      parallel_for(count, 1024, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
          const auto row = std::span(outputs).subspan(r * width_, width_);
          best[r] = best_output(row);
          row_losses[r] = row_loss(loss, row, output_of_row(first + r));
          if (ranks_ && output_link(loss) == OutputLink::softmax) softmax(row);
        }
      });
      for (std::size_t r = 0; r < count; ++r) {
        const Index label = output_of_row(first + r);
        confusion_.add(label, best[r]);
        ++result_.rows_by_class[label];
        result_.wrong_by_class[label] += best[r] == label ? 0 : 1;
        loss_ += row_losses[r];
        if (ranks_) labels_.push_back(label);
      }
      if (ranks_) scores_.insert(scores_.end(), outputs.begin(), outputs.end());
    }
  }

  Evaluation result() {
    const double total = result_.rows;
    result_.accuracy = confusion_.accuracy();
    result_.loss = loss_ / total;
    result_.connections_per_row = work_.connections / total;
    result_.rows_by_exit = std::move(work_.rows_by_exit);
    result_.confusion = confusion_.counts();
    add_metrics();
    return std::move(result_);
  }

 private:
  static constexpr std::size_t kMostRanked = std::size_t{1} << 26;  // floats

  void add_metrics() {
    std::vector<Metric>& metrics = result_.metrics;
    metrics = {{"accuracy", result_.accuracy},
               {"balanced_accuracy", confusion_.balanced_accuracy()},
               {"f1_macro", confusion_.f1_macro()},
               {"f1_weighted", confusion_.f1_weighted()}};
    if (output_link(plan_.facts().loss.value_or(Loss::cross_entropy)) == OutputLink::softmax)
      metrics.push_back({"log_loss", result_.loss});
    // What is not finite has no rank, and a network with one output tells no classes apart.
    if (!ranks_ || width_ < 2 || !std::isfinite(result_.loss)) return;
    const RankMetrics ranks = rank_metrics(scores_, plan_.outputs(), labels_);
    if (std::isnan(ranks.roc_auc)) return;
    metrics.push_back({"roc_auc", ranks.roc_auc});
    metrics.push_back({"average_precision", ranks.average_precision});
  }

  const Plan& plan_;
  std::span<const Index> output_of_class_;
  std::size_t width_;
  bool ranks_;
  ConfusionMatrix confusion_;
  std::vector<float> scores_;  // rows × outputs
  std::vector<Index> labels_;
  RunWork work_;
  double loss_ = 0;
  Evaluation result_;
};

}  // namespace

Overlap training_overlap(const Network& network, const Data& data) {
  const DataOrigin& trained = network.parts().origin;
  const DataOrigin& given = data.impl().dataset.origin;
  if (trained.all_rows == 0 || given.all_rows == 0) return Overlap::unknown;
  if (trained.all_rows != given.all_rows) return Overlap::none;
  return trained.train_rows == given.train_rows ? Overlap::same_split : Overlap::same_rows;
}

Evaluation evaluate(const Network& network, const Data& data, const EvaluateOptions& options,
                    const Observer& observer) {
  return evaluate(compile(network, {options.exit_threshold}, observer), data, options, observer);
}

Evaluation evaluate(const Plan& plan, const Data& data, const EvaluateOptions& options,
                    const Observer& observer) {
  const Dataset& set = data.impl().dataset;
  std::vector<std::pair<const DataRows*, const char*>> parts;
  if (options.part != Part::test) parts.emplace_back(&set.train, "training");
  if (options.part == Part::test || (options.part == Part::all && set.test.rows > 0))
    parts.emplace_back(&set.test, "test");
  const std::vector<Index> order = column_order(plan.facts().input_names, set.feature_names, set.name);
  std::vector<DataRows> ordered;  // a part each, where the columns stand in another order
  ordered.reserve(parts.size());
  for (auto& [rows, name] : parts) {
    if (!order.empty()) rows = &ordered.emplace_back(in_order(*rows, order));
    check_fit(plan, data, *rows, name);
  }
  const std::vector<Index> output_of_class = outputs_for(plan, set);
  Scores scores(plan, output_of_class, options.ranks);
  for (const auto& [rows, name] : parts) scores.add(*rows, observer);
  return scores.result();
}

}  // namespace filigree
