// SPDX-License-Identifier: Apache-2.0
// Where the steps of training are computed. The trainer decides what happens and when; a backend has the
// layers, or a copy of them, and does the arithmetic.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "kernels/descent.h"
#include "train/growth.h"
#include "train/layer.h"
#include "train/loss.h"

namespace filigree::internal {

// Rows to compute gradients of. `key` decides what drops out.
struct GradientRows {
  std::span<const Index> rows;
  std::uint64_t key = 0;
  bool keep = false;       // for growth() …
  std::size_t number = 0;  // … as batch number so many, of growth_batches
};

class TrainingBackend {
 public:
  virtual ~TrainingBackend() = default;

  // The trainer's layers have changed, and their gradients are zero: they are what is trained from here on.
  virtual void set_layers(std::vector<TrainLayer>& layers) = 0;
  // Values, biases and moments as they have become, into the trainer's layers.
  virtual void get_layers(std::vector<TrainLayer>& layers) = 0;

  // Adds the gradients of the mean loss over the rows.
  virtual LossSum add_gradients(const GradientRows& batch) = 0;
  // The norm of what was added, over all parameters.
  virtual double gradient_norm() = 0;
  // One step of the optimizer, after gradient_norm(); then gradients are zero.
  virtual void descend(const DescentRates& rates) = 0;
  // Instead of a step: the gradients, into the first slice of the trainer's layers. clear_gradients() or
  // set_layers() comes before the next add_gradients().
  virtual void get_gradients(std::vector<TrainLayer>& layers) = 0;
  virtual void clear_gradients() = 0;

  // What the batches that were kept say about connections to grow. Valid until the next call of anything
  // else.
  virtual std::unique_ptr<GrowthView> growth() = 0;

  // The loss alone, without dropout or smoothing; of fewer rows than all after a stop.
  virtual LossSum evaluate(const DataRows& data, std::span<const Index> rows,
                           const std::stop_token& stop) = 0;
};

}  // namespace filigree::internal
