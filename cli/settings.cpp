// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <fmt/format.h>

#include <stdexcept>

namespace filigree::cli {

CLI::Validator says_what_is_wrong(const std::function<void(const std::string&)>& attempt) {
  return CLI::Validator(
      [attempt](std::string& text) {
        try {
          attempt(text);
          return std::string();
        } catch (const std::invalid_argument& error) {
          return std::string(error.what());
        }
      },
      "");
}

namespace {

// "Learning", "Topology updates"
std::string heading(const SettingInfo& info) {
  std::string text(info.group);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

void SettingArguments::add_flag(CLI::App& app, const SettingInfo& info, bool value) {
  auto& setting = settings_.emplace_back(std::make_unique<Setting>());
  setting->name = info.name;
  setting->text = value ? "true" : "false";
  const std::string help = value ? std::string(info.help) : fmt::format("do not {}", info.help);
  setting->option = app.add_flag(fmt::format("--{}{}", value ? "" : "no-", info.name), help);
  // The one that says the default is of use after a configuration that says the other.
  setting->option->group(setting->text == info.standard ? "" : heading(info));
}

void SettingArguments::add_to(CLI::App& app, const SettingInfo& info, const std::string& network) {
  if (info.yes_or_no) {
    add_flag(app, info, true);
    add_flag(app, info, false);
    return;
  }
  auto& setting = settings_.emplace_back(std::make_unique<Setting>());
  setting->name = info.name;
  const std::string standard = info.name != "network" ? info.standard
                               : network.empty() ? fmt::format("features-{0}-{0}-{0}-classes", kHiddenNeurons)
                                                 : network;
  setting->option = app.add_option("--" + setting->name, setting->text,
                                   fmt::format("{} {{{}}}{}", info.help, info.possible,
                                               standard.empty() ? "" : fmt::format(" [{}]", standard)))
                        ->type_name(std::string(info.placeholder))
                        ->group(heading(info))
                        ->check(says_what_is_wrong([name = setting->name](const std::string& text) {
                          TrainOptions scratch;
                          apply_setting(scratch, name, text);
                        }));
}

void SettingArguments::apply_to(TrainOptions& options) const {
  for (const auto& setting : settings_)
    if (setting->option->count() > 0) apply_setting(options, setting->name, setting->text);
}

void SettingArguments::refuse_any() const {
  for (const auto& setting : settings_)
    if (setting->option->count() > 0)
      throw std::invalid_argument(
          fmt::format("--{} with --resume: a run that goes on has its settings", setting->name));
}

std::string interrupted(const std::string& command, const std::filesystem::path& directory) {
  if (!std::filesystem::exists(directory / "config.toml")) return "interrupted before anything was done";
  return fmt::format("interrupted; go on with: filigree {} --resume {}", command, directory.string());
}

std::string pruning_text(const TrainOptions& options) {
  const char* const once = options.pruning.schedule == PruneSchedule::once ? ", all at once" : "";
  std::string what;
  switch (options.pruning.structure) {
    case Structure::n_of_m:
      return fmt::format("{} of {} inputs in a row stay{}", options.pruning.group_kept,
                         options.pruning.group_size, once);
    case Structure::none:
      what = fmt::format("weights by {}", word(options.pruning.by));
      break;
    case Structure::blocks:
      what = fmt::format("blocks of {0} x {0}", options.pruning.group_size);
      break;
    case Structure::neurons:
      what = options.pruning.time_weight > 0 ? "neurons by error, norm and time (fssl)" : "whole neurons";
      break;
  }
  return fmt::format("{}, until {:g} % are gone{}", what, 100 * options.evolution.final_sparsity, once);
}

}  // namespace filigree::cli
