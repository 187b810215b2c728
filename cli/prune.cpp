// SPDX-License-Identifier: Apache-2.0
// filigree prune: a network made smaller, with what that cost and gained.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/train_view.h"
#include "filigree/compress.h"

namespace filigree::cli {

namespace {

struct PruneArguments {
  Common common;
  DataArguments data;
  SettingArguments settings;
  std::string model, out, resume, time_model;
  PruneMethod method = PruneMethod::magnitude;
  double target = 0.9;
  Index rows = 512;
  Lottery lottery;
  bool once = false;
};

// The settings of training that pruning has, too.
constexpr std::string_view kPruneSettings[] = {
    "update-every", "stop-evolving",   "growth-batches", "redistribute", "group-size",
    "group-kept",   "shrink",          "time-weight",    "optimizer",    "lr",
    "schedule",     "warmup-epochs",   "step-epochs",    "step-factor",  "momentum",
    "beta1",        "beta2",           "epsilon",        "weight-decay", "input-dropout",
    "dropout",      "label-smoothing", "clip-norm",      "epochs",       "batch",
    "slices",       "validation",      "patience",       "seed"};

std::string milliseconds(const Footprint::Timing& timing) {
  return fmt::format("{:.3g} ms", 1e3 * timing.seconds);
}

void print_row(const Common& common, const std::string& what, const std::string& before,
               const std::string& after, const std::string& change) {
  if (!common.quiet) fmt::print("{:<11} {:>14} {:>14}  {}\n", what, before, after, change);
}

void print_table(const Common& common, const PruneRun& run) {
  const Footprint &a = run.before, &b = run.after;
  print_row(common, "", "before", "after", "");
  print_row(common, "parameters", with_commas(a.parameters), with_commas(b.parameters),
            fmt::format("{:.2f} % less", 100 - 100.0 * b.parameters / a.parameters));
  print_row(common, "file", short_bytes(run.bytes_before), short_bytes(run.bytes_after),
            factor(run.bytes_before, run.bytes_after, "smaller", "larger"));
  print_row(common, "memory", short_bytes(a.memory_bytes), short_bytes(b.memory_bytes),
            factor(a.memory_bytes, b.memory_bytes, "smaller", "larger"));
  if (!std::isnan(a.accuracy))
    print_row(common, "accuracy", fmt::format("{:.2f} %", 100 * a.accuracy),
              fmt::format("{:.2f} %", 100 * b.accuracy),
              fmt::format("{:+.2f} points", 100 * (b.accuracy - a.accuracy)));
  for (std::size_t i = 0; i < a.timings.size(); ++i)
    print_row(common, fmt::format("batch {}", a.timings[i].batch), milliseconds(a.timings[i]),
              milliseconds(b.timings[i]),
              factor(a.timings[i].seconds, b.timings[i].seconds, "faster", "slower"));
  print_line(common, "neurons", fmt::format("{} before", shape_text(a.neurons)));
  print_line(common, "", fmt::format("{} after", shape_text(b.neurons)));
  if (run.time_check)
    print_line(
        common, "time model",
        fmt::format("{:.3g} ms predicted for {} rows; {:.3g} ms measured, which is {:.3g} ms at the "
                    "speed of then: {:+.0f} %",
                    1e3 * run.time_check->predicted, run.time_model->rows, 1e3 * run.time_check->measured,
                    1e3 * run.time_check->adjusted, 100 * run.time_check->error()));
}

nlohmann::json side_json(const Footprint& footprint, std::uint64_t bytes) {
  nlohmann::json timings = nlohmann::json::array();
  for (const Footprint::Timing& t : footprint.timings)
    timings.push_back({{"batch", t.batch},
                       {"milliseconds", 1e3 * t.seconds},
                       {"fastest", 1e3 * t.fastest},
                       {"slowest", 1e3 * t.slowest}});
  return {
      {"parameters", footprint.parameters}, {"file_bytes", bytes}, {"memory_bytes", footprint.memory_bytes},
      {"accuracy", footprint.accuracy},     {"timings", timings},  {"neurons", footprint.neurons}};
}

nlohmann::json check_json(const PruneRun& run) {
  if (!run.time_check) return {};
  return {{"rows", run.time_model->rows},
          {"predicted_milliseconds", 1e3 * run.time_check->predicted},
          {"measured_milliseconds", 1e3 * run.time_check->measured},
          {"adjusted_milliseconds", 1e3 * run.time_check->adjusted},
          {"error", run.time_check->error()}};
}

PruneStart start_of(const PruneArguments& arguments) {
  if (!arguments.resume.empty()) {
    PruneStart start = read_prune_start(arguments.resume);
    start.data = arguments.data.over(start.data);
    arguments.settings.apply_to(start.options.training);
    return start;
  }
  Network network = load(arguments.model);
  PruneStart start{arguments.data.over({}), {}, std::move(network)};
  PruneOptions& options = start.options;
  options.training = pruning_defaults();
  apply_method(options, arguments.method);
  if (options.training.pruning.structure != Structure::n_of_m)
    options.training.evolution.final_sparsity = arguments.target;
  options.training.pruning.schedule = arguments.once ? PruneSchedule::once : PruneSchedule::cubic;
  arguments.settings.apply_to(options.training);
  if (options.lottery) options.lottery = arguments.lottery;
  options.time_model = arguments.time_model;
  options.rows = arguments.rows;
  return start;
}

std::string method_text(const PruneOptions& options) {
  if (!options.lottery) return pruning_text(options.training);
  return fmt::format("lottery ticket of {:g} % sparsity in {} rounds, values of epoch {}",
                     100 * options.training.evolution.final_sparsity, options.lottery->rounds,
                     options.lottery->rewind_epochs);
}

int run_prune(PruneArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (arguments.resume.empty() && (arguments.model.empty() || arguments.data.options.source.empty()))
    throw std::invalid_argument("prune needs MODEL, --data and --out RUN, or --resume RUN");
  PruneStart start = start_of(arguments);
  const RunDirectory directory{.path = arguments.resume.empty() ? arguments.out : arguments.resume,
                               .resume = !arguments.resume.empty()};
  const Data data = [&] {
    ProgressDisplay display(common.quiet);
    return load_data(start.data, display.observer(context.stop));
  }();
  print_line(common, "data", data.describe());
  print_line(common, "network", start.network.describe());
  print_line(common, "method", method_text(start.options));
  if (!common.quiet) std::fflush(stdout);
  if (start.options.lottery)
    start.options.lottery->begin = [&](int round, double sparsity) {
      print_line(common, fmt::format("round {}", round), fmt::format("{:.2f} % sparse", 100 * sparsity));
    };
  ProgressDisplay display(common.quiet);
  TrainView view(common.quiet, false, data.task());
  try {
    const PruneRun run = prune(start.network, data, start.options, directory,
                               {view.observer(context.stop), display.observer(context.stop),
                                [&](const std::string& text) { print_line(common, "note", text); }});
    print_table(common, run);
    print_line(common, "written",
               fmt::format("{}: compact.safetensors; before the exact passes: model.safetensors; "
                           "original.safetensors, and the files of the run",
                           directory.path.string()));
    common.write_json({{"method", method_text(start.options)},
                       {"target", start.options.training.evolution.final_sparsity},
                       {"time_model", check_json(run)},
                       {"before", side_json(run.before, run.bytes_before)},
                       {"after", side_json(run.after, run.bytes_after)},
                       {"data", data.describe()},
                       {"threads", Session::current().threads()},
                       {"processor", processor_name()}});
  } catch (const Cancelled&) {
    throw Error(interrupted("prune", directory.path));
  }
  return 0;
}

}  // namespace

Run add_prune(CLI::App& command) {
  auto arguments = std::make_shared<PruneArguments>();
  CLI::Option* model =
      command.add_option("MODEL", arguments->model, "model file, or directory of a training run");
  CLI::Option* data = arguments->data.add_to(command);
  CLI::Option* method = add_word_option<PruneMethod>(
      command, "--method", arguments->method,
      "how to choose what is removed; the methods are listed below [magnitude]", "METHOD");
  CLI::Option* target = command
                            .add_option("--target", arguments->target,
                                        "sparsity of the result, from 0 to below 1: the share of all "
                                        "possible weights that do not exist "
                                        "afterwards; not used by n-of-m, where --group-kept and "
                                        "--group-size decide")
                            ->type_name("SHARE")
                            ->capture_default_str()
                            ->check(says_what_is_wrong([](const std::string& text) {
                              TrainOptions scratch;
                              apply_setting(scratch, "sparsity", text);
                            }));
  CLI::Option* once = command.add_flag("--once", arguments->once,
                                       "remove everything before the first step instead of gradually");
  CLI::Option* time_model =
      command
          .add_option("--time-model", arguments->time_model,
                      "time model of this machine for the fssl method, written by filigree "
                      "bench kernels --time-model; without it, one is measured first")
          ->type_name("FILE");
  CLI::Option* rows = command
                          .add_option("--rows", arguments->rows,
                                      "number of rows of a call whose time the fssl method reduces")
                          ->type_name("N")
                          ->capture_default_str()
                          ->check(CLI::Range(32, 65536));
  CLI::Option* rounds =
      command
          .add_option("--rounds", arguments->lottery.rounds, "number of pruning rounds of the lottery method")
          ->type_name("N")
          ->capture_default_str()
          ->check(CLI::Range(1, 1000));
  CLI::Option* rewind = command
                            .add_option("--rewind", arguments->lottery.rewind_epochs,
                                        "epoch to whose weights the lottery method returns after each round")
                            ->type_name("N")
                            ->capture_default_str()
                            ->check(CLI::NonNegativeNumber);
  CLI::Option* out = command
                         .add_option("--out", arguments->out,
                                     "directory for the result, compact.safetensors, and the files of the "
                                     "run")
                         ->type_name("RUN");
  CLI::Option* resume =
      command.add_option("--resume", arguments->resume, "continue the interrupted run in this directory")
          ->type_name("RUN");
  for (CLI::Option* other : {model, data, method, target, once, time_model, rows, rounds, rewind, out})
    resume->excludes(other);
  for (CLI::Option* needed : {model, data, out}) say_required_unless_resumed(*needed);
  add_note(command,
           "Methods:\n"
           "  magnitude  single weights, the smallest first\n"
           "  taylor     single weights, those with the least effect on the loss first\n"
           "  random     single weights by chance, a baseline\n"
           "  neurons    whole neurons\n"
           "  blocks     square blocks of weights (--group-size)\n"
           "  n-of-m     all but n of every m inputs of a neuron (--group-kept, --group-size)\n"
           "  fssl       neurons, by their effect on the error and by their predicted cost in time\n"
           "  lottery    single weights in rounds; what is left starts again from early values");
  add_examples(
      command,
      {{"filigree prune runs/first/model.safetensors --data fashion --target 0.9 --out pruned",
        "remove nine tenths of the weights, fine-tune the rest, and compare before and after"},
       {"filigree prune runs/first/model.safetensors --data fashion --method fssl --target 0.92 --out fast",
        "remove whole neurons so that the network becomes as fast as possible"}});
  model->needs(out);
  time_model->excludes(rows);
  arguments->common.add_to(command);
  PruneOptions fssl;
  apply_method(fssl, PruneMethod::fssl);
  for (SettingInfo info : setting_infos(pruning_defaults())) {
    if (std::ranges::count(kPruneSettings, info.name) == 0) continue;
    if (info.name == "shrink") info.standard += fmt::format(", fssl: {}", fssl.training.pruning.shrink);
    if (info.name == "time-weight")
      info.standard += fmt::format(", fssl: {}", fssl.training.pruning.time_weight);
    arguments->settings.add_to(command, info);
  }
  return [arguments](const Context& context) { return run_prune(*arguments, context); };
}

}  // namespace filigree::cli
