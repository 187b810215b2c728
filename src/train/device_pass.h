// SPDX-License-Identifier: Apache-2.0
// Steps of training on a device in the place of the CPU's slices: the trainer's layers live there, and come
// home to evolve, to be saved and to be looked at.
#pragma once

#include "device/device.h"
#include "train/growth.h"
#include "train/state.h"

namespace filigree {

// Which devices train; none: the CPU.
struct DevicePlace {
  const DeviceBackend* backend = nullptr;
  std::vector<int> devices = {};
};

class DevicePass {
 public:
  // Throws Error if the network is not a plain chain of layers of at most 65,536 neurons, or the device has
  // too little memory. `slices` and `panel` are the CPU's, so that the same samples drop out.
  DevicePass(const DevicePlace& place, const Dataset& data, const TrainState& state, std::size_t slices,
             std::size_t panel);

  void send(std::vector<TrainLayer>& layers);
  void bring_home(std::vector<TrainLayer>& layers);       // values, biases and moments
  void bring_gradients(std::vector<TrainLayer>& layers);  // into the first slice, and clears them there

  // Adds the gradients of the mean loss over `rows`; `keep_as` as in DeviceTraining. `key` and `first` as in
  // SlicePass::train.
  LossSum train(std::span<const Index> rows, std::uint64_t key, std::size_t first, int keep_as);
  LossSum evaluate(const DataRows& data, std::span<const Index> rows);
  double gradient_norm() { return training_->gradient_norm(); }
  void descend(const DescentRates& rates) { training_->descend(rates); }
  void clear_gradients() { training_->clear_gradients(); }

  // Samples that were kept.
  class Growth final : public GrowthView {
   public:
    explicit Growth(DeviceTraining& training) : training_(training) {}
    std::vector<double> costs(std::size_t l) const override { return training_.costs(l); }
    std::vector<Candidate> largest(std::size_t l, const Pattern& taken, std::size_t count,
                                   std::span<const std::uint32_t> outputs) const override;

   private:
    DeviceTraining& training_;
  };
  Growth growth() { return Growth(*training_); }

 private:
  std::vector<TrainingLayer> views(std::vector<TrainLayer>& layers);

  const Dataset& data_;
  TrainOptions options_;
  std::size_t slices_, panel_;
  std::unique_ptr<DeviceTraining> training_;
  std::vector<Pattern> full_;  // the connections of dense layers, which have no pattern of their own
};

}  // namespace filigree
