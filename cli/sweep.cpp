// SPDX-License-Identifier: Apache-2.0
// filigree sweep: small dense networks against a large sparse one, weight for weight.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/train_view.h"
#include "filigree/sweep.h"

namespace filigree::cli {

namespace {

struct SweepArguments {
  Common common;
  DataArguments data;
  SettingArguments settings;
  std::vector<Offset> budgets;
  int seeds = 3;
  std::string out, resume;
};

// What dense and sparse networks can both be told.
constexpr std::string_view kSweepSettings[] = {
    "network",       "init",          "activation",    "slope",   "scaling",         "update-every",
    "drop-fraction", "stop-evolving", "optimizer",     "lr",      "schedule",        "warmup-epochs",
    "momentum",      "weight-decay",  "input-dropout", "dropout", "label-smoothing", "clip-norm",
    "epochs",        "batch",         "seed"};

SweepStart start_of(const SweepArguments& arguments, const Data* data) {
  if (!arguments.resume.empty()) {
    arguments.settings.refuse_any();
    SweepStart start = read_sweep_start(arguments.resume);
    start.data = arguments.data.over(start.data);
    return start;
  }
  SweepStart start{arguments.data.over({}), {{}, arguments.budgets, arguments.seeds}};
  TrainOptions& training = start.options.training;
  arguments.settings.apply_to(training);
  if (training.network.neurons.empty() && data != nullptr)
    training.network.neurons = {data->features(), 512, 512, data->classes()};
  if (start.options.budgets.empty() && data != nullptr) start.options.budgets = default_budgets(training);
  std::ranges::sort(start.options.budgets);
  return start;
}

// An interval from two seeds spans everything: it is said only where it says something.
std::string with_interval(double mean, double half) {
  return half > 0 && half < 0.2 ? fmt::format("{:.2f} ± {:.2f} %", 100 * mean, 100 * half)
                                : fmt::format("{:.2f} %", 100 * mean);
}

int run_sweep(SweepArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (arguments.resume.empty() && (arguments.out.empty() || arguments.data.options.source.empty()))
    throw std::invalid_argument("sweep needs --data and --out DIR, or --resume DIR");
  const DataOptions source = start_of(arguments, nullptr).data;
  SweepResult result;
  const RunDirectory directory{.path = arguments.resume.empty() ? arguments.out : arguments.resume,
                               .resume = !arguments.resume.empty()};
  try {
    ProgressDisplay display(common.quiet);
    const Data data = load_data(source, display.observer(context.stop));
    const SweepStart start = start_of(arguments, &data);
    print_line(common, "data", data.describe());
    print_line(common, "networks",
               fmt::format("{} sparse against dense ones, {} budgets, {} seeds, {} epochs",
                           shape_text(start.options.training.network.neurons), start.options.budgets.size(),
                           start.options.seeds, start.options.training.run.epochs));
    if (!common.quiet) std::fflush(stdout);
    result = sweep(data, start.options, directory, display.observer(context.stop));
  } catch (const Cancelled&) {
    throw Error(interrupted("sweep", directory.path));
  }
  nlohmann::json means = nlohmann::json::array();
  if (!common.quiet) fmt::print("{:>10} {:>18} {:>18} {:>10}\n", "weights", "dense", "sparse", "lead");
  for (const SweepMean& m : result.means) {
    if (!common.quiet)
      fmt::print("{:>10} {:>18} {:>18} {:>+10.2f}\n", with_commas(m.connections),
                 with_interval(m.dense, m.dense_half), with_interval(m.sparse, m.sparse_half),
                 100 * (m.sparse - m.dense));
    means.push_back({{"connections", m.connections},
                     {"dense", m.dense},
                     {"sparse", m.sparse},
                     {"dense_half", m.dense_half},
                     {"sparse_half", m.sparse_half}});
  }
  print_line(common, "result", result.sentence);
  print_line(common, "written", fmt::format("{}: sweep.csv, sweep.svg", directory.path.string()));
  common.write_json({{"means", means},
                     {"crossing", result.crossing ? nlohmann::json(*result.crossing) : nlohmann::json()},
                     {"sentence", result.sentence}});
  return 0;
}

}  // namespace

Run add_sweep(CLI::App& command) {
  auto arguments = std::make_shared<SweepArguments>();
  CLI::Option* data = arguments->data.add_to(command);
  CLI::Option* budgets =
      command
          .add_option("--budgets", arguments->budgets,
                      "numbers of weights to compare at [about ten, each twice the one before]")
          ->delimiter(',')
          ->type_name("N,...")
          ->check(CLI::PositiveNumber);
  CLI::Option* seeds =
      command.add_option("--seeds", arguments->seeds, "number of runs of each network, with different seeds")
          ->type_name("N")
          ->capture_default_str()
          ->check(CLI::Range(1, 1000));
  CLI::Option* out =
      command.add_option("--out", arguments->out, "directory for the table and the plot")->type_name("DIR");
  CLI::Option* resume =
      command.add_option("--resume", arguments->resume, "continue the interrupted sweep in this directory")
          ->type_name("DIR");
  for (CLI::Option* other : {data, budgets, seeds, out}) resume->excludes(other);
  add_examples(command,
               {{"filigree sweep --data fashion --out sweep", "compare at about ten sizes, three seeds each"},
                {"filigree sweep --data digits --budgets 2000,8000 --seeds 5 --epochs 10 --out quick",
                 "compare at two sizes only"}});
  arguments->common.add_to(command);
  for (const SettingInfo& info : setting_infos())
    if (std::ranges::count(kSweepSettings, info.name) > 0)
      arguments->settings.add_to(command, info, "features-512-512-classes");
  return [arguments](const Context& context) { return run_sweep(*arguments, context); };
}

}  // namespace filigree::cli
