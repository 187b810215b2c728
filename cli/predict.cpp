// SPDX-License-Identifier: Apache-2.0
// filigree predict: what a model says about rows of a file.
#include "filigree/predict.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct PredictArguments {
  Common common;
  DeviceArguments device;
  ModelArguments model;
  std::string input, out, leave_out;
  TableOptions table;
  bool raw = false, any_value = false;
  double exit_threshold = 1;
  std::uint64_t memory_limit = 0;
};

int run_predict(PredictArguments& arguments, const Context& context) {
  Common& common = arguments.common;
  common.prepare();
  arguments.device.prepare();
  if (arguments.out == "-" && arguments.common.json == "/dev/stdout")
    throw std::invalid_argument("--out - and --json - would both write to standard output");
  if (arguments.out == "-") common.quiet = true;  // the predictions alone, for the next program in the pipe
  const std::string out = output_file(arguments.out, {".csv", ".npy", ".csv.gz", ".npy.gz"});
  const Network network = arguments.model.load();
  Predictions predictions;
  {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    const InputTable inputs = read_inputs(
        network, arguments.input, {arguments.leave_out, arguments.table, arguments.memory_limit}, observer);
    const Plan plan = compile(network, {arguments.exit_threshold}, observer);
    predictions = predict(plan, inputs, {arguments.raw, arguments.any_value}, observer);
  }
  write_predictions(out, predictions);
  print_line(common, "rows", with_commas(predictions.rows));
  print_line(common, "written",
             fmt::format("{}: {} {} a row", out, predictions.outputs,
                         predictions.probabilities  ? "probabilities"
                         : predictions.outputs == 1 ? "output"
                                                    : "outputs"));
  common.write_json({{"rows", predictions.rows},
                     {"outputs", predictions.outputs},
                     {"probabilities", predictions.probabilities},
                     {"written", out}});
  return 0;
}

}  // namespace

Run add_predict(CLI::App& command) {
  auto arguments = std::make_shared<PredictArguments>();
  arguments->model.add_to(command)->required();
  command
      .add_option("--input", arguments->input,
                  "rows of inputs: CSV, libsvm, npy, npz or idx, also compressed; - is standard input")
      ->required()
      ->type_name("FILE");
  command
      .add_option("--out", arguments->out,
                  "where to write a class and probabilities for each row: .csv or .npy, also .gz; - is "
                  "standard output, as CSV")
      ->required()
      ->type_name("FILE");
  command.add_flag("--raw", arguments->raw, "write the outputs of the network instead of probabilities");
  command
      .add_option("--label-column", arguments->leave_out,
                  "columns of a CSV file to leave out: numbers counted from 1, or names of the header, "
                  "between commas; "
                  "columns that the model does not know are left out anyway if both have names [none]")
      ->type_name("COLUMN");
  command.add_flag("--any-value", arguments->any_value,
                   "accept outputs that are not finite, instead of an error");
  add_table_form(command, arguments->table);
  add_exit_threshold(command, arguments->exit_threshold);
  add_bytes_option(command, arguments->memory_limit, kDataMemoryHelp);
  add_examples(command, {{"filigree predict runs/first/model.safetensors --input rows.csv --out classes.csv",
                          "write a class and its probabilities for each row"},
                         {"cat rows.csv | filigree predict runs/first/model.safetensors --input - --out -",
                          "use it in a pipe"}});
  arguments->device.add_to(command);
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_predict(*arguments, context); };
}

}  // namespace filigree::cli
