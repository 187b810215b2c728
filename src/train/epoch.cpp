// SPDX-License-Identifier: Apache-2.0
// The trainer's epochs: steps over all rows, validation, the best network so far.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/system.h"
#include "data/data_rows.h"
#include "filigree/plan.h"
#include "infer/evaluate.h"
#include "train/connections.h"
#include "train/training.h"

namespace filigree::internal {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kStepReportSeconds = 0.1;

}  // namespace

bool Training::done() const {
  return static_cast<std::int64_t>(state_.history.size()) >= state_.options.run.epochs || out_of_patience();
}

const EpochReport& Training::epoch(const TrainObserver& observer) {
  run_epoch(state_.history.size(), observer);
  check_finite();
  finish_epoch();
  return state_.history.back();
}

void Training::run_epoch(std::int64_t epoch, const TrainObserver& observer) {
  RowOrder order = shuffled_rows(epoch);
  const std::vector<Index>& rows = order.rows();
  const std::size_t batch = state_.options.run.batch;
  state_.epoch.epoch = epoch + 1;
  state_.epoch.epochs = state_.options.run.epochs;
  const double before = state_.epoch.seconds;  // of a part that was run before a resume
  const double started = seconds_now();
  const std::int64_t first_step = state_.step_in_epoch;
  while (state_.step_in_epoch < steps_per_epoch()) {
    const std::size_t begin = state_.step_in_epoch * batch;
    order.advance(begin);
    step(std::span(rows).subspan(begin, std::min(batch, rows.size() - begin)));
    ++state_.step_in_epoch;
    const double now = seconds_now();
    state_.epoch.seconds = before + now - started;
    if (observer.stop.stop_requested()) throw Cancelled();
    if (observer.step && now - reported_ >= kStepReportSeconds) {
      reported_ = now;
      observer.step(step_report(now - started, state_.step_in_epoch - first_step));
    }
  }
}

StepReport Training::step_report(double seconds, std::int64_t steps) const {
  const double batch = state_.options.run.batch;
  const double samples = std::min(state_.step_in_epoch * batch, static_cast<double>(train_rows_.size()));
  StepReport report;
  report.epoch = state_.epoch.epoch;
  report.epochs = state_.epoch.epochs;
  report.step = state_.step_in_epoch;
  report.steps = steps_per_epoch();
  report.loss = state_.epoch.train_loss / samples;
  report.score = state_.epoch.train_score / samples;
  if (!state_.history.empty()) {
    const EpochReport& last = state_.history.back();
    report.last_score = std::isnan(last.validation_score) ? last.train_score : last.validation_score;
  }
  report.connections = connections();
  report.samples_per_second = steps * batch / seconds;
  report.seconds_left = (total_steps() - state_.step) * seconds / steps;
  return report;
}

// Turns the sums of the epoch under way into its report.
void Training::finish_epoch() {
  EpochReport report = state_.epoch;
  const double samples = train_rows_.size();
  report.train_loss /= samples;
  report.train_score /= samples;
  report.samples_per_second = samples / report.seconds;
  report.connections = connections();
  double all = 0;
  for (const TrainLayer& layer : state_.layers) all += layer.capacity();
  report.sparsity = 1 - report.connections / all;
  report.dead_neurons = count_dead(state_.layers);
  report.validation_score = report.validation_loss = report.test_score = kNone;
  if (!validation_rows_.empty()) {
    const LossSum sum = evaluate(validation_part(), validation_rows_);
    const double rows = validation_rows_.size();
    report.validation_score = sum.score / rows;
    report.validation_loss = sum.loss / rows;
  }
  const double watched_now = state_.options.run.patience == 0 ? 0 : watched(report);
  state_.history.push_back(report);
  state_.epoch = {};
  state_.step_in_epoch = 0;
  if (state_.options.run.patience == 0 || (state_.best_epoch > 0 && !(watched_now > state_.best_score)))
    return;
  state_.best_score = watched_now;
  state_.best_epoch = report.epoch;
  state_.best.clear();
  for (const TrainLayer& layer : state_.layers) state_.best.push_back(to_layer(layer));
}

// Higher is better.
double Training::watched(EpochReport& report) {
  const Watch watch = state_.options.run.metric;
  const bool validates = !validation_rows_.empty();
  if (watch == Watch::loss || (watch == Watch::automatic && data_.task == Task::labels))
    return -(validates ? report.validation_loss : report.train_loss);
  if (watch == Watch::automatic || !validates)
    return validates ? report.validation_score : report.train_score;
  const std::string_view name = word(watch);
  const Plan plan = compile(network_of(state_));
  const DataRows rows = take_rows(validation_part(), validation_rows_);
  const DataRows* const part = &rows;
  const Evaluation evaluation = evaluate_rows(plan, data_, {&part, 1});
  const auto found = std::ranges::find(evaluation.metrics, name, &Metric::name);
  if (found == evaluation.metrics.end())
    fail_for("metric", "the validation rows of {}, with {}, have no {}", data_.name, data_.describe_targets(),
             name);
  report.validation_metric = found->value;
  return higher_is_better(name) ? found->value : -found->value;
}

bool Training::out_of_patience() const {
  return state_.options.run.patience > 0 && !state_.history.empty() &&
         state_.history.back().epoch - state_.best_epoch >= state_.options.run.patience;
}

void Training::use_best() {
  const bool best_is_last = state_.best_epoch >= static_cast<std::int64_t>(state_.history.size());
  if (state_.options.run.patience == 0 || state_.best.empty() || best_is_last) return;
  for (std::size_t l = 0; l < state_.layers.size(); ++l)
    set_connections(state_.layers[l], state_.best[l], state_.layers[l].transposed.rows > 0);
  layers_changed();
}

Offset Training::connections() const {
  Offset sum = 0;
  for (const TrainLayer& layer : state_.layers) sum += static_cast<Offset>(layer.connections());
  return sum;
}

}  // namespace filigree::internal
