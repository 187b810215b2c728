// filigree eval: how well a model does on a data set.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/progress.h"
#include "filigree/train.h"

namespace filigree::cli {

namespace {

struct EvalArguments {
  Common common;
  ModelArguments model;
  DataArguments data;
  std::string part = "test";
};

int run_eval(EvalArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  const Network network = arguments.model.load();
  const Part part = arguments.part == "train" ? Part::train : Part::test;
  std::string described;
  Evaluation evaluation;
  {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    const Data data = load_data(arguments.data.options, observer);
    described = data.describe();
    evaluation = evaluate(network, data, part, observer);
  }
  Index wrong = 0;
  std::string by_class;
  for (std::size_t c = 0; c < evaluation.rows_by_class.size(); ++c) {
    wrong += evaluation.wrong_by_class[c];
    by_class += fmt::format("{}{}", c == 0 ? "" : " ", evaluation.wrong_by_class[c]);
  }
  print_line(common, "network", network.describe());
  print_line(common, "data", described);
  print_line(common, "rows", fmt::format("{} of the {} part", with_commas(evaluation.rows), arguments.part));
  print_line(common, "accuracy",
             fmt::format("{:.2f} % ({} wrong)", 100 * evaluation.accuracy, with_commas(wrong)));
  print_line(common, "loss", fmt::format("{:.6g}", evaluation.loss));
  constexpr std::size_t kShownClasses = 30;
  if (evaluation.rows_by_class.size() <= kShownClasses)
    print_line(common, "wrong", fmt::format("{} (by class)", by_class));
  print_line(common, "time",
             fmt::format("{}, {}rows/s, {}", short_seconds(evaluation.seconds),
                         short_rate(evaluation.rows / evaluation.seconds), threads_text(threads())));
  common.write_json({{"network", network.describe()},
                     {"data", described},
                     {"part", arguments.part},
                     {"rows", evaluation.rows},
                     {"accuracy", evaluation.accuracy},
                     {"loss", evaluation.loss},
                     {"wrong", wrong},
                     {"wrong_by_class", evaluation.wrong_by_class},
                     {"rows_by_class", evaluation.rows_by_class},
                     {"seconds", evaluation.seconds},
                     {"threads", threads()}});
  return 0;
}

}  // namespace

Run add_eval(CLI::App& app) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "how well a model does on a data set");
  arguments->model.add_to(*command)->required();
  arguments->data.add_to(*command)->required();
  command->add_option("--part", arguments->part, "which rows: train or test [test]")
      ->check(CLI::IsMember({"train", "test"}));
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_eval(*arguments, context); };
}

}  // namespace filigree::cli
