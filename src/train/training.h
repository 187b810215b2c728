// SPDX-License-Identifier: Apache-2.0
// The training loop: epochs of steps, evolution, validation, checkpoints.
#pragma once

#include <memory>

#include "train/backend.h"
#include "train/cuda_training.h"
#include "train/evolve.h"
#include "train/row_order.h"
#include "train/run_log.h"
#include "train/state.h"

namespace filigree::internal {

// A network in training: the state, and what the steps need besides. Single steps are public for benchmarks.
class Training {
 public:
  // Throws Error if data and options do not fit.
  // `place`: the device that steps run on; without one, the CPU.
  Training(const Dataset& data, const TrainOptions& options, const DevicePlace& place = {});
  Training(const Dataset& data, TrainState state, const DevicePlace& place = {});
  void layers_changed();          // to be called after the state's layers were
  Training(Training&&) = delete;  // the backend refers to the state

  TrainState& state() { return state_; }
  const TrainState& state() const { return state_; }
  const std::vector<Index>& train_rows() const { return train_rows_; }
  std::int64_t steps_per_epoch() const;
  std::int64_t total_steps() const { return steps_per_epoch() * state_.options.run.epochs; }
  double learning_rate() const;  // of the next step

  // All steps of the next epoch, or what is left of the one under way; its report. Throws Cancelled after the
  // step in which observer.stop was triggered: the next call goes on from there.
  const EpochReport& epoch(const TrainObserver& observer = {});
  bool done() const;             // all epochs are, or validation gets no better
  bool out_of_patience() const;  // the latter
  // Where the settings ask for early stopping, the network of the best epoch takes the place of the last one.
  void use_best();

  // Forward, backward, update, and evolution where one is due. Throws Error if the loss is not finite; the
  // weights are those of before the step then.
  void step(std::span<const Index> rows);
  // The gradients of growth_batches batches, drawn at random, in the first slice of each layer's; nothing is
  // trained.
  void measure_gradients();
  // Copies the layers to the state, if they are elsewhere. Throws Error if something that a checkpoint holds
  // is not finite: the last step may have made it so.
  void check_finite();
  // Throws Cancelled after a stop.
  LossSum evaluate(const DataRows& data, std::span<const Index> rows, const std::stop_token& stop = {});

  // The batches of an epoch, counted from 0.
  RowOrder shuffled_rows(std::int64_t epoch) const;
  const std::vector<Index>& validation_rows() const { return validation_rows_; }

 private:
  // What validation_rows() are rows of.
  const DataRows& validation_part() const {
    return data_.validation.rows > 0 ? data_.validation : data_.train;
  }
  void split_rows();
  void choose_interval();
  void choose_targets();
  void check_rule() const;
  void make_backend(const DevicePlace& place);
  void run_epoch(std::int64_t epoch, const TrainObserver& observer);
  void finish_epoch();
  double watched(EpochReport& report);
  StepReport step_report(double seconds, std::int64_t steps) const;
  Offset connections() const;
  bool pulls_now() const;
  bool evolves_now() const;
  bool changes_at_start() const;
  std::uint64_t dropout_key() const;
  void pull(double lr);
  void change_topology();
  // Further batches, drawn at random, from the `first` on: their gradients are added up, but not trained on.
  void add_batches(std::int64_t first, bool keep);
  Moment moment() const;
  [[noreturn]] void report_not_finite(double loss);

  const Dataset& data_;
  TrainState state_;
  const EvolutionRule* rule_;  // null: the topology stays
  std::vector<Index> train_rows_, validation_rows_;
  std::size_t slices_;
  bool from_network_ = false;  // the state that was given may be one of start_from()
  std::unique_ptr<TrainingBackend> backend_;
  double reported_ = 0;  // when a step was, in seconds_now()
};

DevicePlace place_here();  // the devices of the calling thread's session
// See filigree/train.h.
TrainOptions completed(TrainOptions options, const Dataset& data);

struct TrainOutcome {
  TrainState state;
  bool stopped_early = false;
  double test_score = 0, test_loss = 0;  // NaN without a test part
};

// A whole run. Throws Cancelled after observer.stop, once the checkpoint is written. `start`: the network to
// go on from, see start.h; a run that is resumed has it already.
TrainOutcome run_training(const Dataset& data, const TrainOptions& options, const RunFiles& files,
                          const TrainObserver& observer, const Network* start = nullptr,
                          const DevicePlace& place = {});

}  // namespace filigree::internal
