// SPDX-License-Identifier: Apache-2.0
// filigree challenge: the Sparse DNN Graph Challenge.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct ChallengeRunArguments {
  Common common;
  DeviceArguments device;
  ChallengeArguments challenge;
  ChallengeOptions options;
  bool no_filter = false, no_merge_rows = false;
  std::string write_categories;
};

int run_challenge(ChallengeRunArguments& arguments, const Context& context) {
  arguments.common.prepare();
  arguments.device.prepare();
  if (!arguments.write_categories.empty())
    arguments.write_categories = output_file(arguments.write_categories);
  ChallengeOptions options = arguments.options;
  options.source = arguments.challenge.parsed();
  options.filter = !arguments.no_filter;
  options.merge_rows = !arguments.no_merge_rows;
  if (options.kernel != DeviceKernel::fused && options.engine == Engine::compiled)
    throw std::invalid_argument(
        fmt::format("--kernel {} computes a network as it is: choose --engine plain", word(options.kernel)));
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

Run add_challenge(CLI::App& command) {
  auto arguments = std::make_shared<ChallengeRunArguments>();
  arguments->challenge.add_network_to(command, "number of layers [120, or as many as --data has]");
  arguments->challenge.add_images_to(command);
  ChallengeOptions& options = arguments->options;
  command
      .add_option("--data", arguments->challenge.source.data,
                  "directory with the official files, plain, .gz or .zst; without it, a network is generated")
      ->type_name("DIR");
  add_word_option<Engine>(
      command, "--engine", options.engine,
      "plain computes every connection of every live row; compiled rewrites the network by exact "
      "passes first [compiled]",
      "ENGINE");
  add_word_option<DeviceKernel>(
      command, "--kernel", options.kernel,
      "kernel that computes a layer on --device cuda: ours (fused) or a published baseline [fused]",
      "KERNEL");
  command.add_flag("--no-filter", arguments->no_filter, "go on computing rows whose outputs are all zero");
  command.add_flag("--no-merge-rows", arguments->no_merge_rows,
                   "compute equal rows each on its own, instead of once");
  command.add_option("--repeat", options.repeat, "number of timed runs, of which the median is reported [1]")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  add_bytes_option(command, options.memory_limit, kChallengeMemoryHelp);
  add_word_option<Check>(
      command, "--check", options.check,
      "how to check the answer: auto takes the official list, or else a sample by the double-precision "
      "reference; full takes the reference for every row [auto]",
      "HOW");
  command
      .add_option("--write-categories", arguments->write_categories,
                  "write the categories to this file, in the form of the official lists")
      ->type_name("FILE");
  add_examples(command,
               {{"filigree challenge", "run 1024 neurons × 120 layers on drawn digits, without any data"},
                {"filigree challenge --data DIR --repeat 5",
                 "run the official files and compare the answer with the official list"}});
  arguments->device.add_to(command);
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_challenge(*arguments, context); };
}

}  // namespace filigree::cli
