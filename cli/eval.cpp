// SPDX-License-Identifier: Apache-2.0
// filigree eval: how well a model does on a data set.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

#include "cli/command.h"
#include "cli/evaluation_view.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/exits.h"
#include "filigree/train.h"

namespace filigree::cli {

namespace {

struct EvalArguments {
  Common common;
  DeviceArguments device;
  ModelArguments model;
  DataArguments data;
  std::optional<Part> part;  // by what the model was trained on, if nobody says
  double exit_threshold = 1;
  bool exit_curve = false;
  std::string plot;
};

std::string rows_by_exit_text(const std::vector<Offset>& rows, const std::vector<ExitInfo>& exits) {
  std::string text;
  for (std::size_t e = 0; e < rows.size(); ++e)
    text += e < exits.size() && rows.size() > 1
                ? fmt::format("{} behind layer {}, ", with_commas(rows[e]), exits[e].after)
                : fmt::format("{} at the end", with_commas(rows[e]));
  return text;
}

// What was evaluated, and on what.
void print_subject(const EvalArguments& arguments, const Network& network, const std::string& data,
                   Index rows) {
  print_line(arguments.common, "network", network.describe());
  print_line(arguments.common, "data", data);
  print_line(arguments.common, "rows",
             arguments.part == Part::all
                 ? fmt::format("{}, all of them", with_commas(rows))
                 : fmt::format("{} of the {} part", with_commas(rows), word(*arguments.part)));
}

// Which rows to score, where nobody says: those that the network was not trained on, as far as that can be
// known. Complains where rows may have been seen in training.
Part choose_part(EvalArguments& arguments, const Network& network, const Data& data) {
  const Overlap overlap = training_overlap(network, data);
  if (!arguments.part)
    arguments.part = !data.test_drawn() || overlap == Overlap::same_split || overlap == Overlap::same_rows
                         ? Part::test
                         : Part::all;
  if (overlap == Overlap::same_rows)
    complain(
        "note: the network was trained on rows of this file, divided by another --data-seed or --test-share: "
        "rows "
        "that are scored here were seen in training");
  if (overlap == Overlap::same_split && arguments.part != Part::test)
    complain("note: the network was trained on rows that are scored here");
  if (overlap == Overlap::unknown && data.test_drawn() && arguments.part != Part::train)
    complain(
        "note: this model does not say what it was trained on; rows that are scored here may have been seen "
        "in "
        "training");
  return *arguments.part;
}

int run_exit_curve(EvalArguments& arguments, const Network& network, const Context& context) {
  const Common& common = arguments.common;
  const std::string plot = arguments.plot.empty() ? "" : output_file(arguments.plot, {".svg"});
  std::string described;
  ExitCurve curve;
  {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    const Data data = load_data_for(network, arguments.data.options, observer);
    described = data.describe();
    const Part part = choose_part(arguments, network, data);
    if (part == Part::all) throw std::invalid_argument("--exit-curve scores --part train or test, not all");
    curve = exit_curve(network, data, {.part = part}, observer);
  }
  const ExitPoint& whole = curve.points.back();
  print_subject(arguments, network, described, curve.rows);
  if (!common.quiet) {
    fmt::print("\n{:>9} {:>10} {:>15} {:>9} {:>12} {:>14}  {}\n", "threshold", "accuracy", "connections/row",
               "of all", "time", "speed", "rows that left behind each exit, and at the end");
    for (const ExitPoint& point : curve.points) {
      const Evaluation& e = point.evaluation;
      fmt::print("{:>9g} {:>8.2f} % {:>15} {:>7.1f} % {:>12} {:>14}  {}\n", point.threshold, 100 * e.accuracy,
                 with_commas(std::llround(e.connections_per_row)),
                 100 * e.connections_per_row / whole.evaluation.connections_per_row,
                 short_seconds(point.seconds), factor(whole.seconds, point.seconds),
                 fmt::join(e.rows_by_exit, " "));
    }
  }
  if (!plot.empty()) {
    write_exit_plot(plot, curve,
                    fmt::format("Early exits of {}: error against work",
                                std::filesystem::path(arguments.model.path).filename().string()));
    print_line(common, "written", plot);
  }
  nlohmann::json points = nlohmann::json::array();
  for (const ExitPoint& point : curve.points)
    points.push_back({{"threshold", point.threshold},
                      {"accuracy", point.evaluation.accuracy},
                      {"connections_per_row", point.evaluation.connections_per_row},
                      {"rows_by_exit", point.evaluation.rows_by_exit},
                      {"seconds", point.seconds},
                      {"fastest", point.fastest},
                      {"slowest", point.slowest}});
  common.write_json({{"network", network.describe()},
                     {"data", described},
                     {"part", word(*arguments.part)},
                     {"rows", curve.rows},
                     {"points", points},
                     {"threads", Session::current().threads()}});
  return 0;
}

int run_eval(EvalArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  arguments.device.prepare();
  const Network network = arguments.model.load();
  if (arguments.exit_curve) return run_exit_curve(arguments, network, context);
  std::string described;
  Evaluation evaluation;
  {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    const Data data = load_data_for(network, arguments.data.options, observer);
    described = data.describe();
    const Part part = choose_part(arguments, network, data);
    evaluation = evaluate(network, data, {part, arguments.exit_threshold}, observer);
  }
  if (!std::isfinite(evaluation.loss))
    throw Error(fmt::format("{}: the loss is {}: the network gives outputs that are not finite on these rows",
                            network.describe(), evaluation.loss));
  print_subject(arguments, network, described, evaluation.rows);
  print_metrics(common, evaluation, network);
  if (!network.exits().empty() && arguments.exit_threshold < 1)
    print_line(common, "left", rows_by_exit_text(evaluation.rows_by_exit, network.exits()));
  print_line(common, "computed",
             fmt::format("{} connections a row", with_commas(std::llround(evaluation.connections_per_row))));
  print_line(common, "time",
             fmt::format("{}, {}rows/s, {}", short_seconds(evaluation.seconds),
                         short_rate(evaluation.rows / evaluation.seconds),
                         threads_text(Session::current().threads())));
  if (!common.quiet) print_confusion(evaluation, network);
  nlohmann::json result = metrics_json(evaluation, network);
  result.update({{"network", network.describe()},
                 {"data", described},
                 {"part", word(*arguments.part)},
                 {"rows", evaluation.rows},
                 {"loss", evaluation.loss},
                 {"connections_per_row", evaluation.connections_per_row},
                 {"rows_by_exit", evaluation.rows_by_exit},
                 {"seconds", evaluation.seconds},
                 {"threads", Session::current().threads()}});
  if (evaluation.task == Task::classes)
    result.update({{"confusion", evaluation.confusion},
                   {"accuracy", evaluation.accuracy},
                   {"wrong", std::accumulate(evaluation.wrong_by_class.begin(),
                                             evaluation.wrong_by_class.end(), Offset{0})},
                   {"wrong_by_class", evaluation.wrong_by_class},
                   {"rows_by_class", evaluation.rows_by_class}});
  common.write_json(result);
  return 0;
}

}  // namespace

Run add_eval(CLI::App& command) {
  auto arguments = std::make_shared<EvalArguments>();
  arguments->model.add_to(command)->required();
  arguments->data.add_to(command)->required();
  add_word_option<Part>(command, "--part", arguments->part,
                        "rows to score [test, or all of a file that the model was not trained on]", "PART");
  CLI::Option* threshold = add_exit_threshold(command, arguments->exit_threshold);
  CLI::Option* curve = command
                           .add_flag("--exit-curve", arguments->exit_curve,
                                     "measure accuracy, connections and time over a range of exit thresholds")
                           ->excludes(threshold);
  command.add_option("--plot", arguments->plot, "draw the curve of --exit-curve as SVG")
      ->type_name("FILE.svg")
      ->needs(curve);
  add_examples(
      command,
      {{"filigree eval runs/first/model.safetensors --data fashion",
        "accuracy on the test images of Fashion-MNIST"},
       {"filigree eval runs/first/model.safetensors --data csv:new.csv --label-column species --json -",
        "score every row of another file, as JSON"}});
  arguments->device.add_to(command);
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_eval(*arguments, context); };
}

}  // namespace filigree::cli
