// SPDX-License-Identifier: Apache-2.0
// The training loop: epochs of steps, evolution, validation, checkpoints.
#pragma once

#include <filesystem>
#include <memory>

#include "train/device_pass.h"
#include "train/evolve.h"
#include "train/pass.h"
#include "train/state.h"

namespace filigree {

// Slices of a batch that may run side by side. They follow from the batch alone, never from the number of
// threads: each has gradients of its own, which are added up in order.
std::size_t slices_for(const TrainOptions& options);

// A network in training: the state, and what the steps need besides. Single steps are public for benchmarks.
class Trainer {
 public:
  // Throws Error if data and options do not fit.
  Trainer(const Dataset& data, const TrainOptions& options);
  Trainer(const Dataset& data, TrainState state);
  // From here on steps run on a device. Throws Error if it cannot.
  void move_to(const DevicePlace& place);
  // What changed in the state's layers goes to where they are trained.
  void send_layers();
  Trainer(Trainer&&) = delete;  // passes refer to the state

  TrainState& state() { return state_; }
  const TrainState& state() const { return state_; }
  const std::vector<Index>& train_rows() const { return train_rows_; }
  std::int64_t steps_per_epoch() const;
  std::int64_t total_steps() const { return steps_per_epoch() * state_.options.epochs; }
  double learning_rate() const;  // of the next step

  // Forward, backward, update, and evolution where one is due. Throws Error if the loss is not finite; the
  // weights are those of before the step then.
  void step(std::span<const Index> rows);
  // The gradients of growth_batches batches, drawn at random, in the first slice of each layer's; nothing is
  // trained.
  void measure_gradients();
  // Brings the layers home, if they are elsewhere. Throws Error if something that a checkpoint holds is not
  // finite: the last step may have made it so.
  void check_finite();
  LossSum evaluate(const DataRows& data, std::span<const Index> rows);

  // The batches of an epoch, counted from 0.
  std::vector<Index> shuffled_rows(std::int64_t epoch) const;
  const std::vector<Index>& validation_rows() const { return validation_rows_; }

 private:
  void split_rows();
  void choose_interval();
  void check_pruning() const;
  void make_passes();
  // `batch` counts those whose gradients decide together what grows.
  LossSum run_batch(std::span<const Index> rows, std::uint64_t key, bool keep, std::size_t batch);
  LossSum run_slices(std::span<const Index> rows, std::uint64_t key, Record* record, std::size_t first);
  bool shrinks_now() const;
  bool evolves_now() const;
  void evolve_now(bool grows_by_gradient);
  void prune_now();
  // Further batches, drawn at random, from the `first` on: their gradients are added up, but not trained on.
  void add_batches(std::int64_t first, bool keep);
  Moment moment() const;
  [[noreturn]] void report_not_finite(double loss);
  void bring_home();

  const Dataset& data_;
  TrainState state_;
  std::vector<Index> train_rows_, validation_rows_;
  std::size_t slices_;
  std::vector<std::unique_ptr<SlicePass>> passes_;
  std::unique_ptr<Record> record_;
  std::unique_ptr<DevicePass> device_;  // null: the CPU
};

// Where a run keeps its files.
struct RunFiles {
  std::filesystem::path directory = {};  // empty: none
  bool resume = false;
  bool test_every_epoch = false;
  DataOptions data = {};  // for config.toml
  std::int64_t early_epochs =
      -1;  // the network after so many is kept as early.safetensors; negative: none is
};

struct TrainOutcome {
  TrainState state;
  bool stopped_early = false;
  double test_accuracy = 0, test_loss = 0;  // NaN without a test part
};

// A whole run. Throws Cancelled after observer.stop, once the checkpoint is written. `start`: the network to
// go on from, see start.h; a run that is resumed has it already.
TrainOutcome run_training(const Dataset& data, const TrainOptions& options, const RunFiles& files,
                          const TrainObserver& observer, const Model* start = nullptr,
                          const DevicePlace& place = {});

}  // namespace filigree
