// SPDX-License-Identifier: Apache-2.0
// Training on the CPU: a batch is cut into slices that threads compute side by side, on the trainer's own
// layers.
#pragma once

#include "train/backend.h"
#include "train/pass.h"
#include "train/state.h"

namespace filigree::internal {

// Slices of a batch that may run side by side. They follow from the batch alone, never from the number of
// threads: each has gradients of its own, which are added up in order.
std::size_t slices_for(const TrainOptions& options);

// Samples of a slice at most.
std::size_t slice_samples(const TrainOptions& options);

class CpuTraining final : public TrainingBackend {
 public:
  // Works on `state`, which outlives it.
  CpuTraining(const Dataset& data, TrainState& state);

  void set_layers(std::vector<TrainLayer>&) override {}
  void get_layers(std::vector<TrainLayer>&) override {}
  LossSum add_gradients(const GradientRows& batch) override;
  double gradient_norm() override;
  void descend(const DescentRates& rates) override;
  void get_gradients(std::vector<TrainLayer>& layers) override;
  void clear_gradients() override;
  std::unique_ptr<GrowthView> growth() override;
  LossSum evaluate(const DataRows& data, std::span<const Index> rows, const std::stop_token& stop) override;

 private:
  const Dataset& data_;
  TrainState& state_;
  std::vector<std::unique_ptr<SlicePass>> passes_;  // one for each slice
  std::unique_ptr<Record> record_;
};

}  // namespace filigree::internal
