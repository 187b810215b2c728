// SPDX-License-Identifier: Apache-2.0
// Training on a CUDA device: the trainer's layers live there, and are copied to the host to evolve, to be
// saved and to be looked at.
#pragma once

#include "device/device.h"
#include "train/backend.h"
#include "train/state.h"

namespace filigree::internal {

// Which devices train; none: the CPU.
struct DevicePlace {
  const DeviceBackend* backend = nullptr;
  std::vector<int> devices = {};
};

class CudaTraining final : public TrainingBackend {
 public:
  // Throws Error if the network is not a plain chain of layers of at most 65,536 neurons, or the device has
  // too little memory.
  CudaTraining(const DevicePlace& place, const Dataset& data, const TrainState& state);

  void set_layers(std::vector<TrainLayer>& layers) override;
  void get_layers(std::vector<TrainLayer>& layers) override;
  LossSum add_gradients(const GradientRows& batch) override;
  double gradient_norm() override { return training_->gradient_norm(); }
  void descend(const DescentRates& rates) override { training_->descend(rates); }
  void get_gradients(std::vector<TrainLayer>& layers) override;
  void clear_gradients() override { training_->clear_gradients(); }
  std::unique_ptr<GrowthView> growth() override;
  LossSum evaluate(const DataRows& data, std::span<const Index> rows, const std::stop_token& stop) override;

 private:
  std::vector<TrainingLayer> views(std::vector<TrainLayer>& layers);
  // What drops out, as on the CPU: its slices and panels decide.
  DropPlan drop_plan(const GradientRows& batch) const;

  const Dataset& data_;
  TrainOptions options_;
  Targets targets_;
  std::unique_ptr<DeviceTraining> training_;
  std::vector<Pattern> full_;  // the connections of dense layers, which have no pattern of their own
};

}  // namespace filigree::internal
