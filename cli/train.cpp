// SPDX-License-Identifier: Apache-2.0
// filigree train: networks that are sparse from the first step to the last.
#include "filigree/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/evaluation_view.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/settings.h"
#include "cli/train_view.h"

namespace filigree::cli {

namespace {

struct TrainArguments {
  Common common;
  DeviceArguments device;
  DataArguments data;
  SettingArguments settings;
  std::string preset, config, out, resume, start;
  bool test_every_epoch = false;
};

// Defaults, then the preset, then the file, then the command line. Whoever says nothing of all that has
// the preset auto, which is no more than its name before there is `data`.
TrainConfig settings_of(const TrainArguments& arguments, const Data* data) {
  TrainConfig config;
  const bool says_nothing = arguments.preset.empty() && arguments.config.empty() &&
                            arguments.resume.empty() && arguments.start.empty();
  std::string& preset = config.options.preset;
  preset = says_nothing ? kAutomaticPreset : arguments.preset;
  if (data != nullptr)
    config.options = preset_options(kAutomaticPreset, *data);
  else if (!preset.empty() && preset != kAutomaticPreset)
    config.options = preset_options(preset);
  if (!arguments.resume.empty()) {
    config = read_config(std::filesystem::path(arguments.resume) / "config.toml", config);
  } else if (!arguments.config.empty()) {
    config = read_config(arguments.config, config);
  }
  config.data = arguments.data.over(config.data);
  if (!arguments.start.empty() && arguments.preset.empty() && arguments.config.empty()) {
    // A trained network is to be refined: a tenth of the usual rate, from the first step on, and few other
    // connections.
    config.options.learning.lr = 0.01;
    config.options.learning.warmup_epochs = 0;
    config.options.evolution.drop_fraction = 0.05;
  }
  arguments.settings.apply_to(config.options);
  if (config.data.source.empty())
    throw std::invalid_argument(
        "nothing to train on: give --data (digits needs no files), or a --config that names data");
  return config;
}

void print_summary(const Common& common, const TrainRun& run, const Data& data,
                   const std::string& directory) {
  print_outcome(common, run, data);
  constexpr std::pair<const char*, LayerRole> kRoles[] = {{"layers", LayerRole::chain},
                                                          {"experts", LayerRole::expert},
                                                          {"gates", LayerRole::gate},
                                                          {"exits", LayerRole::exit}};
  for (const auto& [name, role] : kRoles) {
    std::string text;
    for (const LayerReport& layer : run.layers)
      if (layer.role == role) text += (text.empty() ? "" : " + ") + with_commas(layer.connections);
    if (!text.empty()) print_line(common, name, text);
  }
  print_line(common, "time",
             fmt::format("{} for {} epoch{}{}, {:.1f} % of it in topology updates",
                         short_seconds(run.seconds), run.epochs.size(), run.epochs.size() == 1 ? "" : "s",
                         run.stopped_early ? " (stopped early)" : "",
                         run.seconds > 0 ? 100 * run.evolve_seconds / run.seconds : 0.0));
  if (run.options.run.patience > 0) {
    print_line(common, "kept",
               fmt::format("the network of epoch {}, the best in validation", run.best_epoch));
  }
  print_line(common, "written",
             directory.empty()
                 ? "nothing; --out RUN keeps the model"
                 : fmt::format("{}: model.safetensors, metrics.jsonl, config.toml, checkpoint.safetensors",
                               directory));
}

nlohmann::json run_json(const TrainRun& run, const Data& data, const DataOptions& source) {
  nlohmann::json layers = nlohmann::json::array(), history = nlohmann::json::array();
  for (const LayerReport& layer : run.layers)
    layers.push_back(
        {{"inputs", layer.inputs}, {"outputs", layer.outputs}, {"connections", layer.connections}});
  for (const EpochReport& epoch : run.epochs) history.push_back(to_json(epoch, data.task()));
  nlohmann::json result = {{data.task() == Task::values ? "test_r2" : "test_accuracy", run.test_score},
                           {"test_loss", run.test_loss},
                           {"sparsity", run.sparsity},
                           {"nnz", run.connections},
                           {"epochs", run.epochs.size()},
                           {"stopped_early", run.stopped_early},
                           {"seconds", run.seconds},
                           {"evolve_seconds", run.evolve_seconds},
                           {"network", run.options.network.neurons},
                           {"layers", layers},
                           {"history", history},
                           {"seed", run.options.run.seed},
                           {"threads", Session::current().threads()},
                           {"data", data.describe()},
                           {"source", source.source},
                           {"processor", processor_name()}};
  if (data.test_rows() > 0) result.update(metrics_json(evaluate(run.network, data), run.network));
  return result;
}

TrainRun run_training(const TrainArguments& arguments, const std::optional<Network>& start, const Data& data,
                      const TrainOptions& options, const RunDirectory& directory, const Context& context) {
  TrainView view(arguments.common.quiet, directory.test_every_epoch, data.task());
  try {
    if (start) return train_from(*start, data, options, directory, view.observer(context.stop));
    return train(data, options, directory, view.observer(context.stop));
  } catch (const Cancelled&) {
    if (directory.path.empty()) throw Error("interrupted; nothing is kept without --out RUN");
    throw Error(fmt::format("interrupted; go on with: filigree train --resume {}", directory.path.string()));
  }
}

std::string sparsity_text(const TrainOptions& options) {
  if (options.network.distribution == Distribution::densities)
    return fmt::format("densities {}", fmt::join(options.network.densities, ", "));
  return fmt::format("{:g} % sparse", 100 * options.network.sparsity);
}

std::string branches_text(const TrainOptions& options) {
  std::string text;
  if (!options.network.mixtures.empty())
    text += fmt::format(", {} of {} experts in hidden layer {}", options.network.active_experts,
                        options.network.experts, fmt::join(options.network.mixtures, ", "));
  if (!options.network.exits.empty())
    text += fmt::format(", exits behind hidden layer {}", fmt::join(options.network.exits, ", "));
  return text;
}

std::string evolution_text(const TrainOptions& options) {
  if (options.evolution.rule == Evolve::none || options.network.dense) return "with a fixed topology";
  if (options.evolution.rule == Evolve::prune) return fmt::format("pruned: {}", pruning_text(options));
  return fmt::format("evolving by {}", word(options.evolution.rule));
}

// What each preset sets, other than the defaults.
std::string presets_text() {
  std::string text =
      "Presets:\n  auto  by rows and features: --hidden 64,64 to 256,256, --epochs, --batch 16 to 128, "
      "--weight-decay";
  const std::vector<SettingInfo> defaults = setting_infos();
  for (const char* name : {"best", "fast", "ertl"}) {
    const std::vector<SettingInfo> infos = setting_infos(preset_options(name));
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < infos.size(); ++i)
      if (infos[i].standard != defaults[i].standard)
        changed.push_back(fmt::format("{} {}", infos[i].name, infos[i].standard));
    text += fmt::format("\n  {}  {}", name, fmt::join(changed, ", "));
  }
  return text;
}

// "values: price; loss squared"
std::string task_text(const Data& data, const TrainOptions& options) {
  constexpr std::size_t kShown = 8;
  const std::vector<std::string>& names = data.target_names();
  std::string text(word(data.task()));
  if (!names.empty())
    text += fmt::format(": {}{}", fmt::join(std::span(names).first(std::min(names.size(), kShown)), ", "),
                        names.size() > kShown ? fmt::format(", … ({})", names.size()) : "");
  return text + fmt::format("; loss {}", word(options.learning.loss));
}

// Says so where a setting means that nothing will happen.
void note_idle_settings(const TrainOptions& options, const Data& data) {
  if (options.network.dense || options.evolution.rule == Evolve::none ||
      options.evolution.rule == Evolve::prune)  // pruning refuses by itself
    return;
  const std::int64_t rows = data.train_rows() * (1 - options.run.validation);
  const std::int64_t steps = (rows + options.run.batch - 1) / options.run.batch * options.run.epochs;
  const std::int64_t evolving = options.evolution.stop * steps;
  if (std::max<std::int64_t>(1, options.evolution.update_every) < evolving) return;
  const std::string every =
      options.evolution.update_every == 0
          ? ""
          : fmt::format(
                "updates come every {} steps (--update-every; 0 chooses by the number of steps), but ",
                options.evolution.update_every);
  complain(
      fmt::format("note: the topology will not change: {}this run has {} step{}, of which {:g} % may change "
                  "it (--stop-evolving)",
                  every, steps, steps == 1 ? "" : "s", 100 * options.evolution.stop));
}

int run_train(TrainArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  arguments.device.prepare();
  TrainConfig config = settings_of(arguments, nullptr);
  const RunDirectory directory{.path = arguments.resume.empty() ? arguments.out : arguments.resume,
                               .resume = !arguments.resume.empty(),
                               .test_every_epoch = arguments.test_every_epoch};
  const std::optional<Network> start =
      arguments.start.empty() ? std::nullopt : std::optional(load(arguments.start));
  const Data data = [&] {
    ProgressDisplay display(common.quiet);
    const Observer observer = display.observer(context.stop);
    return start ? load_data_for(*start, config.data, observer) : load_data(config.data, observer);
  }();
  if (config.options.preset == kAutomaticPreset && !directory.resume)
    config.options = settings_of(arguments, &data).options;
  TrainOptions& options = config.options;
  if (arguments.start.empty()) options = completed(options, data);
  print_line(common, "data", data.describe());
  print_line(common, "task", task_text(data, options));
  print_line(common, "network",
             arguments.start.empty()
                 ? fmt::format("{}, {}{}", shape_text(options.network.neurons),
                               options.network.dense
                                   ? "dense"
                                   : fmt::format("{}, {}", sparsity_text(options), evolution_text(options)),
                               branches_text(options))
                 : fmt::format("{}, {}{}", arguments.start, evolution_text(options), branches_text(options)));
  print_line(
      common, "machine",
      fmt::format(
          "{}, {}{}", processor_name(), threads_text(Session::current().threads()),
          Session::current().device_name() == "cpu" ? "" : ", on " + Session::current().device_name()));
  note_idle_settings(options, data);
  if (!common.quiet) std::fflush(stdout);
  const TrainRun result = run_training(arguments, start, data, options, directory, context);
  print_summary(common, result, data, directory.path.string());
  common.write_json(run_json(result, data, config.data));
  return 0;
}

}  // namespace

Run add_train(CLI::App& command) {
  auto arguments = std::make_shared<TrainArguments>();
  say_required_unless_resumed(*arguments->data.add_to(command));
  CLI::Option* preset =
      command
          .add_option(
              "--preset", arguments->preset,
              "a set of settings: auto, best, fast or ertl; what each sets is listed below [auto, unless "
              "--config, --start or --resume says more]")
          ->type_name("NAME")
          ->check(says_what_is_wrong([](const std::string& name) {
            if (name != kAutomaticPreset) preset_options(name);
          }));
  CLI::Option* config =
      command
          .add_option("--config", arguments->config,
                      "read settings from this TOML file; options on the command line come after it")
          ->type_name("FILE");
  CLI::Option* out =
      command
          .add_option(
              "--out", arguments->out,
              "directory for the model, metrics, settings and checkpoints of the run [nothing is kept]")
          ->type_name("RUN");
  CLI::Option* start = command
                           .add_option("--start", arguments->start,
                                       "start from this network instead of a new one, with a tenth of the "
                                       "usual learning rate and few topology "
                                       "changes unless told otherwise")
                           ->type_name("MODEL");
  command.add_option("--resume", arguments->resume, "continue the interrupted run in this directory")
      ->type_name("RUN")
      ->excludes(preset)
      ->excludes(config)
      ->excludes(out)
      ->excludes(start);
  command.add_flag("--test-every-epoch", arguments->test_every_epoch,
                   "measure the test accuracy after every epoch; no decision depends on it");
  arguments->device.add_to(command);
  arguments->common.add_to(command);
  for (const SettingInfo& info : setting_infos()) arguments->settings.add_to(command, info);
  add_note(command, presets_text());
  add_examples(command,
               {{"filigree train --data csv:table.csv --label-column species --out runs/first",
                 "train on a table, with a fifth of the rows held out for testing"},
                {"filigree train --data fashion --sparsity 0.97 --preset best --out runs/first",
                 "the settings of the accuracy table; --resume runs/first continues after an interruption"},
                {"filigree train --data digits", "try it without any data"}});
  for (const char* of_sparse : {"--sparsity", "--densities", "--distribution"})
    command.get_option("--dense")->excludes(command.get_option(of_sparse));
  for (const char* of_the_network : {"--network", "--sparsity", "--distribution", "--densities", "--init",
                                     "--activation", "--slope", "--scaling", "--loss"})
    start->excludes(command.get_option(of_the_network));
  return [arguments](const Context& context) { return run_train(*arguments, context); };
}

}  // namespace filigree::cli
