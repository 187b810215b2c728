// SPDX-License-Identifier: Apache-2.0
#include "cli/evaluation_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace filigree::cli {

namespace {

std::optional<double> metric(const std::vector<Metric>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? std::nullopt : std::optional(found->value);
}

std::string output_name(const Network& network, std::size_t output) {
  const std::vector<std::string>& names = network.facts().output_names;
  return names.empty() ? std::to_string(output) : shown(names[output]);
}

void print_ranking(const Common& common, const Evaluation& evaluation) {
  if (const auto auc = metric(evaluation.metrics, "roc_auc"))
    print_line(common, "ranking",
               fmt::format("ROC-AUC {:.4f}, average precision {:.4f}", *auc,
                           metric(evaluation.metrics, "average_precision").value_or(0)));
}

void print_f1(const Common& common, const Evaluation& evaluation, const std::string& before) {
  print_line(common, "by class",
             fmt::format("{}F1 {:.4f} macro, {:.4f} weighted", before,
                         metric(evaluation.metrics, "f1_macro").value_or(0),
                         metric(evaluation.metrics, "f1_weighted").value_or(0)));
}

void print_classes(const Common& common, const Evaluation& evaluation) {
  Index wrong = 0;
  for (const Index of_class : evaluation.wrong_by_class) wrong += of_class;
  print_line(common, "accuracy",
             fmt::format("{:.2f} % ({} wrong)", 100 * evaluation.accuracy, with_commas(wrong)));
  print_line(common, "loss", fmt::format("{:.6g}", evaluation.loss));
  print_f1(common, evaluation,
           fmt::format("{:.2f} % balanced accuracy, ",
                       100 * metric(evaluation.metrics, "balanced_accuracy").value_or(0)));
  print_ranking(common, evaluation);
  constexpr std::size_t kShownClasses = 30;
  if (evaluation.rows_by_class.size() <= kShownClasses)
    print_line(common, "wrong", fmt::format("{} (by class)", fmt::join(evaluation.wrong_by_class, " ")));
}

// A line for each output, where there are several, but not a page of them.
void print_outputs(const Common& common, const Evaluation& evaluation, const Network& network) {
  constexpr std::size_t kShownOutputs = 30;
  const std::size_t outputs = evaluation.by_output.size();
  if (common.quiet || outputs < 2 || outputs > kShownOutputs) return;
  std::size_t width = 0;
  for (std::size_t o = 0; o < outputs; ++o) width = std::max(width, output_name(network, o).size());
  fmt::print("\n{:<{}}", "", width);
  for (const Metric& each : evaluation.by_output.front()) fmt::print("  {:>17}", each.name);
  for (std::size_t o = 0; o < outputs; ++o) {
    fmt::print("\n{:<{}}", output_name(network, o), width);
    for (const Metric& each : evaluation.by_output[o])
      fmt::print("  {:>17}", std::isnan(each.value) ? "–" : fmt::format("{:.6g}", each.value));
  }
  fmt::print("\n\n");
}

void print_values(const Common& common, const Evaluation& evaluation, const Network& network) {
  print_line(common, "R²", fmt::format("{:.4f}", evaluation.score));
  print_line(common, "errors",
             fmt::format("root mean square (RMSE) {:.6g}, mean magnitude (MAE) {:.6g}{}",
                         metric(evaluation.metrics, "rmse").value_or(0),
                         metric(evaluation.metrics, "mae").value_or(0),
                         network.outputs() > 1 ? ", means over the values" : ""));
  print_outputs(common, evaluation, network);
}

void print_labels(const Common& common, const Evaluation& evaluation, const Network& network) {
  print_line(common, "accuracy",
             fmt::format("{:.2f} % of the labels, {:.2f} % of the rows in all their labels",
                         100 * evaluation.score, 100 * evaluation.accuracy));
  print_line(common, "loss", fmt::format("{:.6g}", evaluation.loss));
  print_f1(common, evaluation, "");
  print_ranking(common, evaluation);
  print_outputs(common, evaluation, network);
}

}  // namespace

std::string score_text(Task task, double score) {
  if (std::isnan(score)) return "–";
  switch (task) {
    case Task::classes:
    case Task::labels:
      return fmt::format("{:.2f} %", 100 * score);
    case Task::values:
      return fmt::format("R² {:.4f}", score);
  }
  return "";
}

void print_metrics(const Common& common, const Evaluation& evaluation, const Network& network) {
  switch (evaluation.task) {
    case Task::classes:
      return print_classes(common, evaluation);
    case Task::values:
      return print_values(common, evaluation, network);
    case Task::labels:
      return print_labels(common, evaluation, network);
  }
}

void print_confusion(const Evaluation& evaluation, const Network& network) {
  constexpr std::size_t kMost = 12;  // that fit a terminal
  const std::size_t classes = evaluation.rows_by_class.size();
  if (classes == 0 || classes > kMost) return;
  std::size_t width = 1;
  for (const Offset count : evaluation.confusion) width = std::max(width, std::to_string(count).size());
  for (std::size_t c = 0; c < classes; ++c) width = std::max(width, output_name(network, c).size());
  fmt::print("\nrows of a class (down) and what they were taken for (across):\n{:>{}}", "", width);
  for (std::size_t c = 0; c < classes; ++c) fmt::print("  {:>{}}", output_name(network, c), width);
  for (std::size_t c = 0; c < classes; ++c) {
    fmt::print("\n{:>{}}", output_name(network, c), width);
    for (std::size_t o = 0; o < classes; ++o)
      fmt::print("  {:>{}}", evaluation.confusion[c * classes + o], width);
  }
  fmt::print("\n");
}

nlohmann::json metrics_json(const Evaluation& evaluation, const Network& network) {
  const auto as_object = [](const std::vector<Metric>& metrics) {
    nlohmann::json object = nlohmann::json::object();
    for (const Metric& each : metrics) object[each.name] = each.value;
    return object;
  };
  nlohmann::json result = {{"task", word(evaluation.task)}, {"metrics", as_object(evaluation.metrics)}};
  for (std::size_t o = 0; o < evaluation.by_output.size(); ++o) {
    const std::vector<std::string>& names = network.facts().output_names;
    result["by_output"][names.empty() ? std::to_string(o) : names[o]] = as_object(evaluation.by_output[o]);
  }
  return result;
}

}  // namespace filigree::cli
