// SPDX-License-Identifier: Apache-2.0
// The settings of training as options of a command.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filigree/train.h"

namespace filigree::cli {

inline constexpr Index kHiddenNeurons = 256;  // of each of three hidden layers, where no network is given

class SettingArguments {
 public:
  // Adds --NAME, or --NAME and --no-NAME. `network`: what the command takes where none is given.
  void add_to(CLI::App& app, const SettingInfo& info, const std::string& network = {});
  // Those that the command line gave.
  void apply_to(TrainOptions& options) const;
  // Throws std::invalid_argument if there is any: a run that goes on has its settings.
  void refuse_any() const;

 private:
  struct Setting {
    std::string name, text;
    CLI::Option* option = nullptr;
  };
  void add_flag(CLI::App& app, const SettingInfo& info, bool value);

  std::vector<std::unique_ptr<Setting>> settings_;
};

// Refuses what `attempt` throws std::invalid_argument for, with its message, before any work begins.
CLI::Validator says_what_is_wrong(const std::function<void(const std::string&)>& attempt);

// What to say after Ctrl-C: how to go on, if the run has begun.
std::string interrupted(const std::string& command, const std::filesystem::path& directory);

// "weights by magnitude, until 90 % are gone": what Evolve::prune is set to do.
std::string pruning_text(const TrainOptions& options);

}  // namespace filigree::cli
