// filigree challenge: the Sparse DNN Graph Challenge.
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct Arguments {
  Common common;
  ChallengeArguments challenge;
  ChallengeOptions options;
  bool no_filter = false, no_merge_rows = false;
  std::string write_categories;
};

int run(const Arguments& arguments, const Context& context) {
  set_threads(arguments.common.threads);
  ChallengeOptions options = arguments.options;
  options.source = arguments.challenge.parsed();
  options.filter = !arguments.no_filter;
  options.merge_rows = !arguments.no_merge_rows;
  ChallengeResult result;
  {
    ProgressDisplay display(arguments.common.quiet);
    result = run_challenge(options, display.observer(context.stop));
  }
  print_result(arguments.common, result);
  if (!arguments.write_categories.empty()) write_category_file(arguments.write_categories, result.categories);
  arguments.common.write_json(to_json(result));
  return report_mismatches(result);
}

}  // namespace

Run add_challenge(CLI::App& app) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("challenge", "run the Sparse DNN Graph Challenge and check the answer");
  arguments->challenge.add_to(*command);
  ChallengeOptions& options = arguments->options;
  command
      ->add_option("--data", arguments->challenge.source.data,
                   "directory in the official file layout, plain or .gz")
      ->type_name("DIR");
  command
      ->add_option("--engine", options.engine,
                   "plain: every connection of every live row; compiled: exact passes first")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Engine>{{"plain", Engine::plain}, {"compiled", Engine::compiled}}))
      ->option_text("plain|compiled [compiled]");
  command->add_flag("--no-filter", arguments->no_filter, "keep computing rows that died");
  command->add_flag("--no-merge-rows", arguments->no_merge_rows, "compute equal rows each on its own");
  command->add_option("--repeat", options.repeat, "runs; the median counts")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--memory-limit", options.memory_limit,
                   "bytes (or 12GiB …) for layers, inputs and rows; layers beyond it are streamed")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  command
      ->add_option("--check", options.check,
                   "auto: official list, else a sample by the reference; full: every row")
      ->transform(CLI::CheckedTransformer(std::map<std::string, Check>{
          {"auto", Check::automatic}, {"full", Check::full}, {"none", Check::none}}))
      ->option_text("auto|full|none [auto]");
  command->add_option("--write-categories", arguments->write_categories, "write the categories to this file")
      ->type_name("FILE");
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run(*arguments, context); };
}

}  // namespace filigree::cli
