// filigree challenge: the Sparse DNN Graph Challenge.
#include <memory>

#include "cli/command.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct ChallengeRunArguments {
  Common common;
  DeviceArguments device;
  ChallengeArguments challenge;
  ChallengeOptions options;
  bool no_filter = false, no_merge_rows = false;
  std::string engine = "compiled", kernel = "fused", check = "auto", write_categories;
};

int run_challenge(ChallengeRunArguments& arguments, const Context& context) {
  arguments.common.prepare();
  arguments.device.prepare();
  if (!arguments.write_categories.empty())
    arguments.write_categories = output_file(arguments.write_categories);
  ChallengeOptions options = arguments.options;
  options.source = arguments.challenge.parsed();
  options.engine = arguments.engine == "plain" ? Engine::plain : Engine::compiled;
  options.kernel = static_cast<DeviceKernel>(std::ranges::find(kDeviceKernelNames, arguments.kernel) -
                                             kDeviceKernelNames.begin());
  options.check = arguments.check == "full"   ? Check::full
                  : arguments.check == "none" ? Check::none
                                              : Check::automatic;
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
  auto arguments = std::make_shared<ChallengeRunArguments>();
  CLI::App* command =
      app.add_subcommand("challenge", "run the Sparse DNN Graph Challenge and check the answer");
  arguments->challenge.add_network_to(*command, "layers [120, or as many as --data has]");
  arguments->challenge.add_images_to(*command);
  ChallengeOptions& options = arguments->options;
  command
      ->add_option("--data", arguments->challenge.source.data,
                   "directory in the official layout; plain, .gz or .zst")
      ->type_name("DIR");
  command
      ->add_option("--engine", arguments->engine,
                   "plain: every connection of every live row; compiled: exact passes first [compiled]")
      ->check(CLI::IsMember({"plain", "compiled"}))
      ->type_name("E");
  command
      ->add_option("--kernel", arguments->kernel,
                   "who computes a layer on --device cuda: fused, or a baseline: tiled, spmm, spgemm, "
                   "spgemm-kept [fused]")
      ->check(CLI::IsMember(std::vector<std::string>(kDeviceKernelNames.begin(), kDeviceKernelNames.end())))
      ->type_name("K");
  command->add_flag("--no-filter", arguments->no_filter, "keep computing rows that died");
  command->add_flag("--no-merge-rows", arguments->no_merge_rows,
                    "compiled: compute equal rows each on its own");
  command->add_option("--repeat", options.repeat, "runs, of which the median counts [1]")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("R");
  add_bytes_option(*command, options.memory_limit);
  command
      ->add_option("--check", arguments->check,
                   "auto: official list, else a sample by the reference; full: every row; none [auto]")
      ->check(CLI::IsMember({"auto", "full", "none"}))
      ->type_name("C");
  command
      ->add_option("--write-categories", arguments->write_categories,
                   "write the categories, as the official lists")
      ->type_name("FILE");
  arguments->device.add_to(*command);
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_challenge(*arguments, context); };
}

}  // namespace filigree::cli
