// filigree predict: what a model says about rows of a file.
#include "filigree/predict.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct PredictArguments {
  Common common;
  DeviceArguments device;
  ModelArguments model;
  std::string input, out;
  bool raw = false;
  double exit_threshold = 1;
};

int run_predict(PredictArguments& arguments, const Context& context) {
  Common& common = arguments.common;
  common.prepare();
  arguments.device.prepare();
  if (arguments.out == "-") common.quiet = true;  // the predictions alone, for the next program in the pipe
  const std::string out = output_file(arguments.out);
  const Network network = arguments.model.load();
  Predictions predictions;
  {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    const InputTable inputs = read_inputs(arguments.input, observer);
    if (inputs.columns != network.inputs())
      throw Error(fmt::format("{}: rows of {} values, but the network has {} inputs", arguments.input,
                              inputs.columns, network.inputs()));
    predictions = predict(network, inputs, arguments.raw, observer, {arguments.exit_threshold});
  }
  write_predictions(out, predictions);
  print_line(common, "rows", with_commas(predictions.rows));
  print_line(common, "written",
             fmt::format("{}: {} {} a row", out, predictions.outputs,
                         predictions.probabilities ? "probabilities" : "outputs"));
  common.write_json({{"rows", predictions.rows},
                     {"outputs", predictions.outputs},
                     {"probabilities", predictions.probabilities},
                     {"written", out}});
  return 0;
}

}  // namespace

Run add_predict(CLI::App& app) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "what a model says about the rows of a file");
  arguments->model.add_to(*command)->required();
  command->add_option("--input", arguments->input, "rows of inputs: idx, npy or CSV without labels")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", arguments->out, "probabilities as .npy, or as CSV; - is standard output")
      ->required()
      ->type_name("FILE");
  command->add_flag("--raw", arguments->raw, "the network's outputs instead of probabilities");
  add_exit_threshold(*command, arguments->exit_threshold);
  arguments->device.add_to(*command);
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_predict(*arguments, context); };
}

}  // namespace filigree::cli
