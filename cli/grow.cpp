// SPDX-License-Identifier: Apache-2.0
// filigree grow: a network from a small sparse seed up to a budget.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/train_view.h"
#include "filigree/compress.h"

namespace filigree::cli {

namespace {

struct GrowArguments {
  Common common;
  DataArguments data;
  SettingArguments settings;
  Growth growth;
  Offset flops = 0;
  std::string out, resume;
};

// The settings of training that do not concern growth.
constexpr std::string_view kNotForGrowth[] = {
    "dense",           "evolve",           "final-sparsity", "prune-by",     "prune-schedule",
    "structure",       "group-size",       "group-kept",     "shrink",       "time-weight",
    "connection-cost", "neuron-cost",      "input-cost",     "densities",    "threshold",
    "threshold-share", "threshold-factor", "exits",          "exit-weight",  "exit-density",
    "mixtures",        "experts",          "active-experts", "gate-density", "balance"};

GrowStart start_of(const GrowArguments& arguments, const Data* data) {
  if (!arguments.resume.empty()) {
    arguments.settings.refuse_any();
    GrowStart start = read_grow_start(arguments.resume);
    start.data = arguments.data.over(start.data);
    return start;
  }
  GrowStart start{arguments.data.over({}), growing_defaults(), arguments.growth};
  arguments.settings.apply_to(start.options);
  if (start.options.network.neurons.empty() && data != nullptr)
    start.options.network.neurons = {data->features(), 32, 32, data->classes()};
  if (arguments.flops > 0) start.growth.budget = arguments.flops / 2;
  return start;
}

int run_grow(GrowArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (arguments.resume.empty() && (arguments.out.empty() || arguments.data.options.source.empty()))
    throw std::invalid_argument("grow needs --data, --out RUN and --budget or --flops, or --resume RUN");
  if (arguments.resume.empty() && (arguments.growth.budget > 0) == (arguments.flops > 0))
    throw std::invalid_argument("grow needs a --budget of connections, or one of --flops");
  const DataOptions source = start_of(arguments, nullptr).data;
  const Data data = [&] {
    ProgressDisplay display(common.quiet);
    return load_data(source, display.observer(context.stop));
  }();
  GrowStart start = start_of(arguments, &data);
  const RunDirectory directory{.path = arguments.resume.empty() ? arguments.out : arguments.resume,
                               .resume = !arguments.resume.empty()};
  print_line(common, "data", data.describe());
  print_line(common, "budget",
             fmt::format("{} connections, {} floating-point operations a row",
                         with_commas(start.growth.budget), with_commas(2 * start.growth.budget)));
  start.growth.begin = [&](const std::string& stage, const std::vector<Index>& network, Offset connections) {
    print_line(common, "stage",
               fmt::format("{}: {}, {} connections", stage, shape_text(network), with_commas(connections)));
  };
  TrainView view(common.quiet, false, data.task());
  try {
    const TrainRun run = grow(data, start.options, start.growth, directory, view.observer(context.stop));
    print_outcome(common, run, data);
    print_line(common, "written",
               fmt::format("{}: model.safetensors; a run for each stage", directory.path.string()));
    common.write_json({{"network", run.options.network.neurons},
                       {"connections", run.connections},
                       {"budget", start.growth.budget},
                       {"test_accuracy", run.test_score},
                       {"sparsity", run.sparsity},
                       {"data", data.describe()}});
  } catch (const Cancelled&) {
    throw Error(interrupted("grow", directory.path));
  }
  return 0;
}

}  // namespace

Run add_grow(CLI::App& command) {
  auto arguments = std::make_shared<GrowArguments>();
  CLI::Option* data = arguments->data.add_to(command);
  CLI::Option* budget = command
                            .add_option("--budget", arguments->growth.budget,
                                        "number of connections to grow to; a new run needs this or --flops")
                            ->type_name("N")
                            ->check(CLI::PositiveNumber);
  CLI::Option* flops =
      command
          .add_option(
              "--flops", arguments->flops,
              "floating-point operations for a row to grow to, instead of --budget; a connection takes two")
          ->type_name("N")
          ->check(CLI::Range(2.0, 1e15));
  CLI::Option* stages =
      command.add_option("--stages", arguments->growth.stages, "number of stages of growth")
          ->type_name("N")
          ->capture_default_str()
          ->check(CLI::Range(1, 100));
  CLI::Option* deepen = command
                            .add_option("--deepen", arguments->growth.deepen,
                                        "how many of the stages, from the first on, add a layer")
                            ->type_name("N")
                            ->capture_default_str()
                            ->check(CLI::Range(0, 100));
  CLI::Option* prune = command
                           .add_option("--prune", arguments->growth.prune,
                                       "share of the weights that is pruned after the last stage")
                           ->type_name("SHARE")
                           ->capture_default_str()
                           ->check(CLI::Range(0.0, 0.99));
  CLI::Option* out =
      command.add_option("--out", arguments->out, "directory for the model and a run for each stage")
          ->type_name("RUN");
  CLI::Option* resume =
      command.add_option("--resume", arguments->resume, "continue the interrupted run in this directory")
          ->type_name("RUN");
  for (CLI::Option* needed : {data, out}) say_required_unless_resumed(*needed);
  for (CLI::Option* other : {data, budget, flops, stages, deepen, prune, out}) resume->excludes(other);
  add_examples(command,
               {{"filigree grow --data fashion --budget 20000 --out grown", "grow to 20,000 connections"},
                {"filigree grow --data csv:table.csv --flops 10000 --stages 3 --out small",
                 "grow to 10,000 floating-point operations a row in three stages"}});
  arguments->common.add_to(command);
  for (const SettingInfo& info : setting_infos(growing_defaults()))
    if (std::ranges::count(kNotForGrowth, info.name) == 0)
      arguments->settings.add_to(command, info, "features-32-32-classes");
  return [arguments](const Context& context) { return run_grow(*arguments, context); };
}

}  // namespace filigree::cli
