// SPDX-License-Identifier: Apache-2.0
// What a training run tells while it goes on: plain values. Standard library only; modules below the API may
// include it, as they may vocabulary.h.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <stop_token>
#include <vector>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

// What rows took on their way through a network.
struct RunWork {
  Offset connections = 0;                 // multiplied with, over all rows
  std::vector<Offset> rows_by_exit = {};  // that left by each exit; the last element is of the network's end
};

// Chain layers lead from one level of neurons to the next, the first one from the inputs, level 0. The
// experts of a mixture lead side by side from one level to the next. Gates and exits read a level; no layer
// reads them, and they come after all others.
enum class LayerRole : std::uint8_t { chain, expert, gate, exit };

struct LayerReport {
  Index inputs = 0, outputs = 0;
  Offset connections = 0;
  LayerRole role = LayerRole::chain;
};

inline constexpr double kNoMetric = std::numeric_limits<double>::quiet_NaN();

// Scores are at most 1: of classes and labels the accuracy, which is the share that is right; of values R²,
// with several outputs that of their scaled values together. Losses of values are of targets scaled to
// variance 1.
struct EpochReport {
  std::int64_t epoch = 0;  // counted from 1
  std::int64_t epochs = 0;
  double lr = 0;                // at the end of the epoch
  double train_loss = 0;        // mean over the epoch's batches, as trained (dropout and weights included)
  double train_score = 0;       // the same
  double validation_score = 0;  // NaN without a validation part
  double validation_loss = 0;
  double validation_metric =
      kNoMetric;          // what early stopping watches; NaN where that is the score or nothing
  double test_score = 0;  // NaN unless this was the last epoch or asked for
  Offset connections = 0;
  double sparsity = 0;
  Offset dropped = 0, grown = 0;  // in this epoch
  Index dead_neurons = 0;         // hidden neurons without an input or without a consumer
  double seconds = 0;             // of this epoch's training
  double evolve_seconds = 0;      // of those, for topology updates
  double samples_per_second = 0;
};

// A moment within an epoch, for a live view.
struct StepReport {
  std::int64_t epoch = 0, epochs = 0;
  std::int64_t step = 0, steps = 0;  // of this epoch
  double loss = 0, score = 0;        // of this epoch so far
  double last_score = 0;             // validation or training score of the last finished epoch
  Offset connections = 0;
  double samples_per_second = 0;
  double seconds_left = 0;  // of the whole run
};

struct TrainObserver {
  std::function<void(const EpochReport&)> epoch = {};
  std::function<void(const StepReport&)> step = {};  // a few times a second
  std::stop_token stop = {};  // the run stops after the step it is in, with a checkpoint
  std::function<void(const std::string&)> warning = {};  // see Observer
};

}  // namespace filigree
#pragma GCC visibility pop
