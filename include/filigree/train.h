// SPDX-License-Identifier: Apache-2.0
// Training: networks that are sparse from the first step to the last, with an evolving topology.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
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
  Network network;  // of the last epoch; with patience, of the best epoch in validation
  TrainOptions options;
  std::vector<EpochReport> epochs;  // those before a resume included
  double test_score = 0;            // see EpochReport; NaN without a test part
  double test_loss = 0;
  double sparsity = 0;
  Offset connections = 0;
  double seconds = 0;  // of training, evaluation left out
  double evolve_seconds = 0;
  std::vector<LayerReport> layers;
  bool stopped_early = false;
  std::int64_t best_epoch = 0;  // with patience: whose network it is
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

// Goes on from a network instead of random weights: fine-tuning, pruning (Evolve::prune). For fine-tuning use
// a tenth of the usual learning rate, no warm-up and a small drop_fraction, as `filigree train --start` does.
// Its shape, densities, activations, loss and scaling of inputs take the place of those in `options`.
TrainRun train_from(const Network& start, const Data& data, const TrainOptions& options,
                    const RunDirectory& directory = {}, const TrainObserver& observer = {});

// How well a network in training does; see EpochReport. evaluate() has more of a finished one.
struct TrainScore {
  std::int64_t rows = 0;
  double score = 0, loss = 0;
};

// A network in training, for loops of your own: train() is such a loop. Topology updates happen every
// evolution.update_every steps, whether step() or epoch() takes them. Works in the session that it was made
// in. One thread at a time may use a trainer; any number of trainers may work side by side.
class Trainer {
 public:
  Trainer(const Data& data, const TrainOptions& options);  // from random weights and connections
  // Goes on from a network; see train_from().
  Trainer(const Network& start, const Data& data, const TrainOptions& options);
  // Goes on from a state(), bit by bit. Throws Error if it is damaged, or of other data.
  Trainer(const Data& data, std::span<const std::byte> state);
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // One step on these training rows, numbered from 0 as in the data, options().run.batch at most. It counts
  // for the schedules of learning rate and topology, but not for epochs. Throws Error if the loss is not
  // finite; the weights are those of before the step then.
  void step(std::span<const Index> rows);
  // The steps of the next epoch over all rows but those kept for validation, or what is left of the epoch
  // that a stop ended (Cancelled). observer.epoch is not called: the report is the result. Throws
  // std::invalid_argument once done().
  EpochReport epoch(const TrainObserver& observer = {});
  // From here on with other rows, whose features and targets are the same, for `epochs` epochs more than are
  // done. The network, the optimizer's memory, scaling and history stay; what the outputs are called as well.
  // The learning rate follows options().learning.schedule over all epochs: Schedule::constant is for rows
  // that keep coming. Throws Error if the data does not fit; nothing has changed then.
  void go_on_with(const Data& data, std::int64_t epochs = 1);
  // After options().run.epochs epochs, or when patience has run out; step() does not count.
  bool done() const;
  // With patience: back to the network of the best epoch in validation, as train() does at its end.
  void use_best();

  TrainScore evaluate(Part part = Part::test, const Observer& observer = {});
  Network network();  // as it is now
  const TrainOptions& options() const;
  // Sets options().learning.lr, the rate at the peak of the schedule. Throws std::invalid_argument if it is
  // out of range.
  void set_peak_learning_rate(double lr);
  double learning_rate() const;  // of the next step: the peak's, after warm-up and decay
  std::int64_t steps() const;    // done so far
  const std::vector<EpochReport>& history() const;
  std::vector<std::byte> state();  // all there is to know: a checkpoint in memory

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The options with all that follows from the data: the usual loss of its task in the place of
// cross-entropy, and the numbers of neurons, by network.hidden, where network.neurons is empty. train() and
// Trainer do this themselves.
TrainOptions completed(const TrainOptions& options, const Data& data);

// The settings behind a preset's name: "ertl", "best", "fast".
TrainOptions preset_options(const std::string& name);
inline constexpr const char* kAutomaticPreset = "auto";
// The same, or kAutomaticPreset: network, epochs, batch and weight decay by rows and features.
TrainOptions preset_options(const std::string& name, const Data& data);

// What there is to set, with these defaults.
std::vector<SettingInfo> setting_infos(const TrainOptions& standard = {});
// Sets one of them from text: "0.9", "he", "true", "784-256-10" (network), "0.1,0.2" (densities).
// Throws std::invalid_argument that says what is possible.
void apply_setting(TrainOptions& options, std::string_view name, std::string_view text);
// The other way: what a setting is, as text.
std::string setting_text(const TrainOptions& options, std::string_view name);

// TOML: a `preset` key is applied first, then the others; it gives way to a preset that `defaults` carries.
// Unknown keys, wrong types and values out of range are errors with their line.
TrainConfig read_config(const std::filesystem::path& path, const TrainConfig& defaults = {});
std::string to_toml(const TrainConfig& config);

}  // namespace filigree
#pragma GCC visibility pop
