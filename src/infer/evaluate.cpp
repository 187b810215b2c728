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
#include "infer/evaluate.h"
#include "infer/known_table.h"
#include "infer/metrics.h"
#include "infer/outputs.h"
#include "infer/rows_loader.h"
#include "io/labelled_rows.h"
#include "io/message_text.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

namespace {

constexpr std::size_t kOutputsAtATime = std::size_t{1} << 24;  // floats: 64 MiB of outputs in memory

std::string part_name(const Dataset& data, const DataRows& rows) {
  return &rows == &data.test ? "test" : "training";
}

void check_fit(const Plan& plan, const Dataset& data, const DataRows& rows) {
  if (rows.rows == 0)
    throw std::invalid_argument(fmt::format("{}: there are no {} rows", data.name, part_name(data, rows)));
  if (rows.label.empty() && rows.target.empty())
    fail("{}: the {} rows have no labels", data.name, part_name(data, rows));
  // A sparse file says nothing about columns that are zero in all its rows.
  if (rows.features > plan.inputs() || (!rows.sparse() && rows.features < plan.inputs()))
    fail("{}: {} features a row, but the network has {} inputs", data.name, rows.features, plan.inputs());
  const Task task = task_of(plan.facts(), plan.outputs());
  if (task != data.task)
    fail_for("task", "{} has {}, but the network gives {}", data.name, data.describe_targets(), word(task));
  if (task != Task::classes && data.targets != plan.outputs())
    fail("{} has {}, but the network has {} outputs", data.name, data.describe_targets(), plan.outputs());
}

// Classes that the outputs tell apart.
std::size_t classes_of(const Plan& plan) {
  return plan.outputs() == 1 && task_of(plan.facts(), 1) == Task::classes && plan.facts().loss
             ? 2
             : plan.outputs();
}

// For each class of the data, the network's. Files number their classes each for itself, so what the files
// call them decides, where the network knows the names of its own data.
std::vector<Index> outputs_for(const Plan& plan, const Dataset& data) {
  const std::vector<std::string>& known = plan.facts().output_names;
  const Index classes = classes_of(plan);
  if (data.classes > classes)
    fail("{}: {} classes, but the network has {} outputs", data.name, data.classes, plan.outputs());
  std::vector<Index> output;
  for (Index c = 0; c < data.classes; ++c) {
    const std::string label = data.target_names.empty() ? std::to_string(c) : data.target_names[c];
    if (known.empty()) {
      // Trained on classes called 0, 1, …, or made by another program: numbers are all there is.
      const bool trained = plan.facts().loss.has_value();
      output.push_back(c);
      if (trained && !data.target_names.empty()) {
        const auto number = whole_number_of(label);
        if (!number || *number < 0 || *number >= classes)
          fail("{}: there is a row of class {}, but the network knows 0 to {}", data.name, label,
               classes - 1);
        output.back() = *number;
      }
      continue;
    }
    const auto at = std::ranges::find(known, label);
    if (at == known.end())
      fail("{}: there is a row of class {}, but the network knows {}{}", data.name, in_quotes(label),
           fmt::join(std::span(known).first(std::min<std::size_t>(known.size(), 10)), ", "),
           known.size() > 10 ? ", …" : "");
    output.push_back(at - known.begin());
  }
  return output;
}

// For each output of the network the target of the data that it is to give.
std::vector<Index> targets_for(const Plan& plan, const Dataset& data) {
  return column_order(plan.facts().output_names, data.target_names, data.name);
}

// The rows with the given columns.
template <typename T>
Buffer<T> in_order(const Buffer<T>& values, std::size_t width, std::span<const Index> order) {
  Buffer<T> result(values.size() / width * order.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = values[i / order.size() * width + order[i % order.size()]];
  return result;
}

DataRows in_order(const DataRows& rows, std::span<const Index> order) {
  DataRows result;
  result.rows = rows.rows;
  result.features = static_cast<Index>(order.size());
  result.pixels = rows.pixels;
  result.label = rows.label;
  result.target = rows.target;
  result.floats = in_order(rows.floats, rows.features, order);
  result.bytes = in_order(rows.bytes, rows.features, order);
  if (!rows.sparse()) return result;
  std::vector<Index> place(rows.features, -1);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<Index>(i);
  result.row_begin.push_back(0);
  std::vector<Index> columns;
  std::vector<float> values;
  std::vector<std::pair<Index, float>> row;
  for (Index r = 0; r < rows.rows; ++r) {
    row.clear();
    for (Offset e = rows.row_begin[r]; e < rows.row_begin[r + 1]; ++e)
      if (const Index at = place[rows.column[e]]; at >= 0) row.emplace_back(at, rows.value[e]);
    std::ranges::sort(row);
    for (const auto& [column, value] : row) {
      columns.push_back(column);
      values.push_back(value);
    }
    result.row_begin.push_back(std::ssize(columns));
  }
  result.column = buffer_of(columns);
  result.value = buffer_of(values);
  return result;
}

// Outputs of some rows, and what they should be.
struct Scored {
  const DataRows& rows;
  std::size_t first = 0, count = 0;  // which of them
  std::span<float> outputs;          // count × outputs; may be changed
};

// Adds up how well a network does, part after part; a task each.
class Scores {
 public:
  virtual ~Scores() = default;
  virtual void add(const Scored& scored) = 0;
  virtual void finish(Evaluation& evaluation) = 0;
};

constexpr std::size_t kMostRanked = std::size_t{1} << 26;  // floats

class ClassScores final : public Scores {
 public:
  ClassScores(const Plan& plan, const Dataset& data, bool ranks)
      : loss_kind_(plan.facts().loss.value_or(Loss::cross_entropy)),
        width_(plan.outputs()),
        classes_(classes_of(plan)),
        output_of_class_(outputs_for(plan, data)),
        ranks_(ranks),
        confusion_(classes_) {}

  void add(const Scored& scored) override {
    ranks_ = ranks_ && (labels_.size() + scored.count) * classes_ <= kMostRanked;
    const auto output_of_row = [&](std::size_t row) {
      return output_of_class_[scored.rows.label[scored.first + row]];
    };
    std::vector<double> row_losses(scored.count);  // added up in the order of rows, whatever the threads
    std::vector<Index> best(scored.count);
    std::vector<float> probability(ranks_ ? scored.count * classes_ : 0);
    parallel_for(scored.count, 1024, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r) {
        const auto row = scored.outputs.subspan(r * width_, width_);
        row_losses[r] = row_loss(loss_kind_, row, output_of_row(r));
        best[r] = best_class(row, classes_);
        if (ranks_) class_probabilities(output_link(loss_kind_), row, {&probability[r * classes_], classes_});
      }
    });
    for (std::size_t r = 0; r < scored.count; ++r) {
      confusion_.add(output_of_row(r), best[r]);
      loss_ += row_losses[r];
      if (ranks_) labels_.push_back(output_of_row(r));
    }
    scores_.insert(scores_.end(), probability.begin(), probability.end());
  }

  void finish(Evaluation& evaluation) override {
    evaluation.score = evaluation.accuracy = confusion_.accuracy();
    evaluation.loss = loss_ / evaluation.rows;
    evaluation.confusion = confusion_.counts();
    evaluation.rows_by_class = confusion_.rows_by_class();
    evaluation.wrong_by_class = confusion_.wrong_by_class();
    std::vector<Metric>& metrics = evaluation.metrics;
    metrics = {{"accuracy", evaluation.accuracy},
               {"balanced_accuracy", confusion_.balanced_accuracy()},
               {"f1_macro", confusion_.f1_macro()},
               {"f1_weighted", confusion_.f1_weighted()}};
    if (output_link(loss_kind_) != OutputLink::identity) metrics.push_back({"log_loss", evaluation.loss});
    // What is not finite has no rank, and a network with one output tells no classes apart.
    if (!ranks_ || classes_ < 2 || !std::isfinite(evaluation.loss)) return;
    const RankMetrics ranks = rank_metrics(scores_, classes_, labels_);
    if (std::isnan(ranks.roc_auc)) return;
    metrics.push_back({"roc_auc", ranks.roc_auc});
    metrics.push_back({"average_precision", ranks.average_precision});
  }

 private:
  Loss loss_kind_;
  std::size_t width_, classes_;
  std::vector<Index> output_of_class_;
  bool ranks_;
  ConfusionMatrix confusion_;
  std::vector<float> scores_;  // rows × classes
  std::vector<Index> labels_;
  double loss_ = 0;
};

// What labels and values share: a target for each output.
class TargetScores : public Scores {
 public:
  TargetScores(const Plan& plan, const Dataset& data)
      : loss_kind_(plan.facts().loss.value_or(usual_loss(data.task))),
        width_(plan.outputs()),
        target_of_output_(targets_for(plan, data)) {}

 protected:
  // The targets of a row, in the order of the outputs.
  std::span<const float> target(const Scored& scored, std::size_t row) {
    const auto given = std::span(scored.rows.target).subspan((scored.first + row) * width_, width_);
    if (target_of_output_.empty()) return given;
    ordered_.resize(width_);
    for (std::size_t o = 0; o < width_; ++o) ordered_[o] = given[target_of_output_[o]];
    return ordered_;
  }

  Loss loss_kind_;
  std::size_t width_;
  double loss_ = 0;

 private:
  std::vector<Index> target_of_output_;
  std::vector<float> ordered_;
};

// The mean over the outputs of what each has, under the same names; NaN where one has none.
void add_means(const std::vector<std::vector<Metric>>& by_output, std::vector<Metric>& metrics) {
  for (std::size_t m = 0; m < by_output.front().size(); ++m) {
    double sum = 0;
    for (const std::vector<Metric>& of_output : by_output) sum += of_output[m].value;
    metrics.push_back({by_output.front()[m].name, sum / static_cast<double>(by_output.size())});
  }
}

class ValueScores final : public TargetScores {
 public:
  ValueScores(const Plan& plan, const Dataset& data) : TargetScores(plan, data), errors_(width_) {}

  void add(const Scored& scored) override {
    for (std::size_t r = 0; r < scored.count; ++r) {
      const auto outputs = scored.outputs.subspan(r * width_, width_);
      const auto targets = target(scored, r);
      loss_ += row_loss(loss_kind_, outputs, targets);
      for (std::size_t o = 0; o < width_; ++o) errors_[o].add(outputs[o], targets[o]);
    }
  }

  void finish(Evaluation& evaluation) override {
    evaluation.loss = loss_ / evaluation.rows;
    for (const ValueErrors& errors : errors_)
      evaluation.by_output.push_back({{"r2", errors.r2()}, {"rmse", errors.rmse()}, {"mae", errors.mae()}});
    add_means(evaluation.by_output, evaluation.metrics);
    evaluation.score = evaluation.metrics.front().value;
  }

 private:
  std::vector<ValueErrors> errors_;
};

class LabelScores final : public TargetScores {
 public:
  LabelScores(const Plan& plan, const Dataset& data, bool ranks)
      : TargetScores(plan, data), ranks_(ranks), counts_(width_) {}

  void add(const Scored& scored) override {
    ranks_ = ranks_ && scores_.size() + scored.count * width_ <= kMostRanked;
    for (std::size_t r = 0; r < scored.count; ++r) {
      const auto outputs = scored.outputs.subspan(r * width_, width_);
      const auto targets = target(scored, r);
      loss_ += row_loss(loss_kind_, outputs, targets);
      bool all = true;
      for (std::size_t o = 0; o < width_; ++o) {
        const bool is = targets[o] > 0.5f, said = outputs[o] > 0;
        counts_[o].add(is, said);
        all = all && is == said;
        if (ranks_) positive_.push_back(is ? 1 : 0);
      }
      all_right_ += all ? 1 : 0;
    }
    if (ranks_) scores_.insert(scores_.end(), scored.outputs.begin(), scored.outputs.end());
  }

  void finish(Evaluation& evaluation) override {
    const double rows = evaluation.rows, outputs = width_;
    evaluation.loss = loss_ / rows;
    evaluation.accuracy = all_right_ / rows;
    double right = 0, weighted = 0, positive = 0;
    for (const LabelCounts& each : counts_) {
      right += each.right;
      weighted += each.positive * each.f1();
      positive += each.positive;
      evaluation.by_output.push_back({{"accuracy", each.right / rows}, {"f1", each.f1()}});
    }
    evaluation.score = right / (rows * outputs);
    double f1 = 0;
    for (const LabelCounts& each : counts_) f1 += each.f1() / outputs;
    evaluation.metrics = {{"accuracy", evaluation.accuracy},
                          {"label_accuracy", evaluation.score},
                          {"f1_macro", f1},
                          {"f1_weighted", positive == 0 ? 0 : weighted / positive},
                          {"log_loss", evaluation.loss / outputs}};
    if (ranks_ && std::isfinite(evaluation.loss)) add_ranks(evaluation);
  }

 private:
  // The means are over the labels that some rows have and some do not.
  void add_ranks(Evaluation& evaluation) {
    RankMetrics sum;
    double ranked = 0;
    std::vector<float> own(evaluation.rows);
    std::vector<char> positive(evaluation.rows);
    for (std::size_t o = 0; o < width_; ++o) {
      for (std::size_t r = 0; r < own.size(); ++r) {
        own[r] = scores_[r * width_ + o];
        positive[r] = positive_[r * width_ + o];
      }
      const RankMetrics of{roc_auc(own, positive), average_precision(own, positive)};
      evaluation.by_output[o].push_back({"roc_auc", of.roc_auc});
      evaluation.by_output[o].push_back({"average_precision", of.average_precision});
      if (std::isnan(of.roc_auc)) continue;
      sum.roc_auc += of.roc_auc;
      sum.average_precision += of.average_precision;
      ++ranked;
    }
    if (ranked == 0) return;
    evaluation.metrics.push_back({"roc_auc", sum.roc_auc / ranked});
    evaluation.metrics.push_back({"average_precision", sum.average_precision / ranked});
  }

  bool ranks_;
  std::vector<LabelCounts> counts_;
  std::vector<float> scores_;   // rows × outputs
  std::vector<char> positive_;  // the same
  double all_right_ = 0;
};

std::unique_ptr<Scores> scores_for(const Plan& plan, const Dataset& data, bool ranks) {
  switch (data.task) {
    case Task::classes:
      return std::make_unique<ClassScores>(plan, data, ranks);
    case Task::values:
      return std::make_unique<ValueScores>(plan, data);
    case Task::labels:
      return std::make_unique<LabelScores>(plan, data, ranks);
  }
  return nullptr;
}

}  // namespace

namespace internal {

Evaluation evaluate_rows(const Plan& plan, const Dataset& data, std::span<const DataRows* const> parts,
                         bool ranks, const Observer& observer) {
  const std::vector<Index> order = column_order(plan.facts().input_names, data.feature_names, data.name);
  std::vector<DataRows> ordered;  // a part each, where the columns stand in another order
  ordered.reserve(parts.size());
  std::vector<const DataRows*> scored;
  for (const DataRows* rows : parts) {
    if (!order.empty() && rows->rows > 0) rows = &ordered.emplace_back(in_order(*rows, order));
    check_fit(plan, data, *rows);
    scored.push_back(rows);
  }
  const std::unique_ptr<Scores> scores = scores_for(plan, data, ranks);
  const std::size_t width = plan.outputs();
  const std::size_t batch = std::max<std::size_t>(kPanelRows, kOutputsAtATime / width);
  Evaluation result;
  result.task = data.task;
  RunWork work;
  for (const DataRows* rows : scored) {
    const std::size_t total = rows->rows;
    result.rows += rows->rows;
    for (std::size_t first = 0; first < total; first += batch) {
      const std::size_t count = std::min(batch, total - first);
      const double start = seconds_now();
      auto outputs = plan.impl().run(count, loader_of(*rows, first, count, plan.impl()), observer, &work);
      result.seconds += seconds_now() - start;
      scores->add({*rows, first, count, outputs});
      rows->forget(static_cast<Index>(first), static_cast<Index>(first + count));
    }
  }
  result.connections_per_row = static_cast<double>(work.connections) / result.rows;
  result.rows_by_exit = std::move(work.rows_by_exit);
  scores->finish(result);
  return result;
}

bool higher_is_better(std::string_view metric) {
  return metric != "log_loss" && metric != "rmse" && metric != "mae";
}

}  // namespace internal

Overlap training_overlap(const Network& network, const Data& data) {
  const DataOrigin& trained = network.parts().origin;
  const DataOrigin& given = data.impl().dataset.origin;
  if (trained.all_rows == 0 || given.all_rows == 0) return Overlap::unknown;
  if (trained.all_rows != given.all_rows) return Overlap::none;
  return trained.train_rows == given.train_rows ? Overlap::same_split : Overlap::same_rows;
}

Data load_data_for(const Network& network, const DataOptions& options, const Observer& observer) {
  Data::Impl impl{load_dataset_for(known_table(network), options, observer), options};
  impl.options.source = absolute_source(options.source);
  return Data(std::make_shared<Data::Impl>(std::move(impl)));
}

Evaluation evaluate(const Network& network, const Data& data, const EvaluateOptions& options,
                    const Observer& observer) {
  return evaluate(compile(network, {options.exit_threshold}, observer), data, options, observer);
}

Evaluation evaluate(const Plan& plan, const Data& data, const EvaluateOptions& options,
                    const Observer& observer) {
  const Dataset& set = data.impl().dataset;
  std::vector<const DataRows*> parts;
  if (options.part != Part::test) parts.push_back(&set.train);
  if (options.part == Part::test || (options.part == Part::all && set.test.rows > 0))
    parts.push_back(&set.test);
  return evaluate_rows(plan, set, parts, options.ranks, observer);
}

}  // namespace filigree
