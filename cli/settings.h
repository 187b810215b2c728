// The settings of training as options of a command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "filigree/train.h"

namespace filigree::cli {

inline constexpr Index kHiddenNeurons = 256;  // of each of three hidden layers, where no network is given

class SettingArguments {
 public:
  // Adds --NAME, or --NAME and --no-NAME.
  void add_to(CLI::App& app, const SettingInfo& info);
  // Those that the command line gave.
  void apply_to(TrainOptions& options) const;

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

// "weights by magnitude, until 90 % are gone": what Evolve::prune is set to do.
std::string pruning_text(const TrainOptions& options);

}  // namespace filigree::cli
