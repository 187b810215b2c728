// filigree prune: a network made smaller, with what that cost and gained.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/command.h"
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
  std::string model, out, resume, method = "magnitude";
  double target = 0.9;
  bool once = false;
};

// What is set for pruning before the command line has its say: half of the run prunes, the rest mends.
TrainOptions pruning_defaults() {
  TrainOptions options;
  options.evolve = Evolve::prune;
  options.redistribute = Redistribute::global;
  options.update_every = 100;
  options.stop_evolving = 0.5;
  options.lr = 0.05;
  options.warmup_epochs = 0;
  options.epochs = 20;
  return options;
}

// The settings of training that pruning has, too.
constexpr std::string_view kShared[] = {"update-every",  "stop-evolving", "growth-batches",
                                        "redistribute",  "group-size",    "group-kept",
                                        "shrink",        "optimizer",     "lr",
                                        "schedule",      "warmup-epochs", "step-epochs",
                                        "step-factor",   "momentum",      "beta1",
                                        "beta2",         "epsilon",       "weight-decay",
                                        "input-dropout", "dropout",       "label-smoothing",
                                        "clip-norm",     "epochs",        "batch",
                                        "slices",        "validation",    "patience",
                                        "seed"};

const char* const kOriginal = "original.safetensors";
const char* const kCompact = "compact.safetensors";

// Single weights by their worth, or groups of them.
void apply_method(const std::string& method, TrainOptions& options) {
  if (const auto by = from_word<PruneBy>(method)) {
    options.prune_by = *by;
  } else {
    options.structure = *from_word<Structure>(method);
  }
}

std::string method_text(const TrainOptions& options) {
  const char* const once = options.prune_schedule == PruneSchedule::once ? ", all at once" : "";
  if (options.structure == Structure::n_of_m)
    return fmt::format("{} of {} inputs in a row stay{}", options.group_kept, options.group_size, once);
  const std::string what =
      options.structure == Structure::none     ? fmt::format("weights by {}", word(options.prune_by))
      : options.structure == Structure::blocks ? fmt::format("blocks of {0} x {0}", options.group_size)
                                               : "whole neurons";
  return fmt::format("{}, until {:g} % are gone{}", what, 100 * options.final_sparsity, once);
}

struct Side {
  std::uintmax_t bytes = 0;
  Footprint footprint;
};

Side measure(const std::filesystem::path& path, const Data& data, const Common& common,
             const Context& context) {
  ProgressDisplay display(common.quiet);
  return {std::filesystem::file_size(path), footprint(load(path), data, 0.1, display.observer(context.stop))};
}

std::string milliseconds(const Footprint::Timing& timing) {
  return fmt::format("{:.3g} ms", 1e3 * timing.seconds);
}

void print_row(const Common& common, const std::string& what, const std::string& before,
               const std::string& after, const std::string& change) {
  if (!common.quiet) fmt::print("{:<11} {:>14} {:>14}  {}\n", what, before, after, change);
}

std::string times(double before, double after, const char* word) {
  return after > 0 ? fmt::format("{:.2f}x {}", before / after, word) : "";
}

void print_table(const Common& common, const Side& before, const Side& after) {
  const Footprint &a = before.footprint, &b = after.footprint;
  print_row(common, "", "before", "after", "");
  print_row(common, "parameters", with_commas(a.parameters), with_commas(b.parameters),
            fmt::format("{:.2f} % less",
                        100 - 100.0 * static_cast<double>(b.parameters) / static_cast<double>(a.parameters)));
  print_row(common, "file", short_bytes(before.bytes), short_bytes(after.bytes),
            times(static_cast<double>(before.bytes), static_cast<double>(after.bytes), "smaller"));
  print_row(common, "memory", short_bytes(a.memory_bytes), short_bytes(b.memory_bytes),
            times(static_cast<double>(a.memory_bytes), static_cast<double>(b.memory_bytes), "smaller"));
  if (!std::isnan(a.accuracy))
    print_row(common, "accuracy", fmt::format("{:.2f} %", 100 * a.accuracy),
              fmt::format("{:.2f} %", 100 * b.accuracy),
              fmt::format("{:+.2f} points", 100 * (b.accuracy - a.accuracy)));
  for (std::size_t i = 0; i < a.timings.size(); ++i)
    print_row(common, fmt::format("batch {}", a.timings[i].batch), milliseconds(a.timings[i]),
              milliseconds(b.timings[i]), times(a.timings[i].seconds, b.timings[i].seconds, "faster"));
  print_line(common, "neurons", fmt::format("{} before", shape_text(a.neurons)));
  print_line(common, "", fmt::format("{} after", shape_text(b.neurons)));
}

nlohmann::json side_json(const Side& side) {
  nlohmann::json timings = nlohmann::json::array();
  for (const Footprint::Timing& t : side.footprint.timings)
    timings.push_back({{"batch", t.batch},
                       {"milliseconds", 1e3 * t.seconds},
                       {"fastest", 1e3 * t.fastest},
                       {"slowest", 1e3 * t.slowest}});
  return {{"parameters", side.footprint.parameters},
          {"file_bytes", side.bytes},
          {"memory_bytes", side.footprint.memory_bytes},
          {"accuracy", side.footprint.accuracy},
          {"timings", timings},
          {"neurons", side.footprint.neurons}};
}

TrainConfig config_of(const PruneArguments& arguments) {
  TrainConfig config;
  if (!arguments.resume.empty()) {
    config = read_config(std::filesystem::path(arguments.resume) / "config.toml");
  } else {
    config.options = pruning_defaults();
    apply_method(arguments.method, config.options);
    if (config.options.structure != Structure::n_of_m) config.options.final_sparsity = arguments.target;
    config.options.prune_schedule = arguments.once ? PruneSchedule::once : PruneSchedule::cubic;
  }
  config.data = arguments.data.over(config.data);
  arguments.settings.apply_to(config.options);
  return config;
}

int run_prune(PruneArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (arguments.resume.empty() && (arguments.model.empty() || arguments.data.options.source.empty()))
    throw std::invalid_argument("prune needs MODEL, --data and --out RUN, or --resume RUN");
  const TrainConfig config = config_of(arguments);
  const RunDirectory directory{.path = arguments.resume.empty() ? arguments.out : arguments.resume,
                               .resume = !arguments.resume.empty()};
  const std::filesystem::path original = directory.path / kOriginal;
  const Network network = load(directory.resume ? original : std::filesystem::path(arguments.model));
  const Data data = [&] {
    ProgressDisplay display(common.quiet);
    return load_data(config.data, display.observer(context.stop));
  }();
  print_line(common, "data", data.describe());
  print_line(common, "network", network.describe());
  print_line(common, "method", method_text(config.options));
  if (!common.quiet) std::fflush(stdout);
  if (!directory.resume && !std::filesystem::exists(directory.path / "checkpoint.safetensors")) {
    std::filesystem::create_directories(directory.path);
    save(network, original);
  }
  TrainView view(common.quiet, false);
  try {
    if (directory.resume) {
      train(data, config.options, directory, view.observer(context.stop));
    } else {
      train_from(network, data, config.options, directory, view.observer(context.stop));
    }
  } catch (const Cancelled&) {
    throw Error(fmt::format("interrupted; go on with: filigree prune --resume {}", directory.path.string()));
  }
  const Side before = measure(original, data, common, context);
  save(compile_network(load(directory.path / "model.safetensors")).network, directory.path / kCompact);
  const Side after = measure(directory.path / kCompact, data, common, context);
  print_table(common, before, after);
  print_line(
      common, "written",
      fmt::format("{}: {}; before the exact passes: model.safetensors; {}, metrics.jsonl, config.toml, "
                  "checkpoint.safetensors",
                  directory.path.string(), kCompact, kOriginal));
  common.write_json({{"method", method_text(config.options)},
                     {"target", config.options.final_sparsity},
                     {"before", side_json(before)},
                     {"after", side_json(after)},
                     {"data", data.describe()},
                     {"threads", threads()},
                     {"processor", processor_name()}});
  return 0;
}

}  // namespace

Run add_prune(CLI::App& app) {
  auto arguments = std::make_shared<PruneArguments>();
  CLI::App* command = app.add_subcommand("prune", "make a network smaller, and fine-tune what is left");
  CLI::Option* model =
      command->add_option("MODEL", arguments->model, "a model file, or the directory of a training run");
  CLI::Option* data = arguments->data.add_to(*command);
  CLI::Option* method =
      command
          ->add_option(
              "--method", arguments->method,
              "what goes: weights by magnitude, taylor or random; or neurons, blocks, all but n-of-m")
          ->type_name("M")
          ->capture_default_str()
          ->check(CLI::IsMember({"magnitude", "taylor", "random", "neurons", "blocks", "n-of-m"}));
  CLI::Option* target = command->add_option("--target", arguments->target, "share of the weights that goes")
                            ->type_name("S")
                            ->capture_default_str()
                            ->check(says_what_is_wrong([](const std::string& text) {
                              TrainOptions scratch;
                              apply_setting(scratch, "sparsity", text);
                            }));
  CLI::Option* once = command->add_flag("--once", arguments->once, "all at once, not gradually");
  CLI::Option* out =
      command->add_option("--out", arguments->out, "directory for the result")->type_name("RUN");
  CLI::Option* resume =
      command->add_option("--resume", arguments->resume, "go on with the run in this directory")
          ->type_name("RUN");
  for (CLI::Option* other : {model, data, method, target, once, out}) resume->excludes(other);
  model->needs(out);
  arguments->common.add_to(*command);
  for (const SettingInfo& info : setting_infos(pruning_defaults()))
    if (std::ranges::count(kShared, info.name) > 0) arguments->settings.add_to(*command, info);
  return [arguments](const Context& context) { return run_prune(*arguments, context); };
}

}  // namespace filigree::cli
