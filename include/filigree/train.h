// SPDX-License-Identifier: Apache-2.0
// Training: networks that are sparse from the first step to the last, with an evolving topology.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/data.h"
#include "filigree/network.h"
#include "filigree/options.h"
#include "filigree/reports.h"

#pragma GCC visibility push(default)
namespace filigree {

struct TrainRun {
  Network network;
  TrainOptions options;
  std::vector<EpochReport> epochs;  // those before a resume included
  double test_accuracy = 0;         // fraction; NaN without a test part
  double test_loss = 0;
  double sparsity = 0;
  Offset connections = 0;
  double seconds = 0;  // of training, evaluation left out
  double evolve_seconds = 0;
  std::vector<LayerReport> layers;
  bool stopped_early = false;
};

// Where a run leaves its files: model.safetensors, metrics.jsonl, config.toml, checkpoint.safetensors.
struct RunDirectory {
  std::filesystem::path path = {};  // empty: no files
  bool resume = false;              // go on from its checkpoint; all settings must be the same
  bool test_every_epoch = false;    // for curves; never used for choices
  std::int64_t early_epochs = -1;   // the network after so many epochs is kept, too: early.safetensors
};

// Throws Cancelled after a stop, with the checkpoint written.
TrainRun train(const Data& data, const TrainOptions& options, const RunDirectory& directory = {},
               const TrainObserver& observer = {});

// Goes on from a network instead of beginning by chance: fine-tuning, pruning (Evolve::prune). Its shape,
// densities, activations, loss and scaling of inputs take the place of those in `options`.
TrainRun train_from(const Network& start, const Data& data, const TrainOptions& options,
                    const RunDirectory& directory = {}, const TrainObserver& observer = {});

// The settings behind a preset's name: "ertl", "best", "fast".
TrainOptions preset_options(const std::string& name);

// What there is to set, in the order of for_each_setting, with these defaults.
std::vector<SettingInfo> setting_infos(const TrainOptions& standard = {});
// Sets one of them from text: "0.9", "he", "true", "784-256-10" (network), "0.1,0.2" (densities). Throws
// std::invalid_argument that says what is possible.
void apply_setting(TrainOptions& options, std::string_view name, std::string_view text);

// TOML: a `preset` key is applied first, then the others; it gives way to a preset that `defaults` carries.
// Unknown keys, wrong types and values out of range are errors with their line.
TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults = {});
std::string to_toml(const TrainConfig& config);

}  // namespace filigree
#pragma GCC visibility pop
