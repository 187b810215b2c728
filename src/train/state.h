// SPDX-License-Identifier: Apache-2.0
// Everything a run knows between two steps: what a checkpoint holds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "filigree/reports.h"
#include "io/safetensors.h"
#include "network/network.h"
#include "train/layer.h"
#include "train/targets.h"

namespace filigree::internal {

struct TrainState {
  TrainOptions options;
  std::uint64_t data_fingerprint = 0;  // of the data set the run began with
  NetworkFacts facts;  // names and origin are not in the checkpoint, because the data has them
  DataOrigin origin;
  std::string simd;  // instruction set of the run that wrote the checkpoint; empty: not known
  Targets targets;   // weights are not in the checkpoint either
  // The last ones give scaled values, if targets.scaling has been found; else values in their own units.
  std::vector<TrainLayer> layers;

  std::int64_t step = 0;           // steps done
  std::int64_t step_in_epoch = 0;  // of the epoch under way
  EpochReport epoch;               // the epoch under way; losses and accuracies are sums over samples
  std::vector<EpochReport> history;

  // Early stopping: the best network so far by what is watched.
  double best_score = -1;
  std::int64_t best_epoch = 0;
  std::vector<Layer> best;
};

// Random numbers follow from seed and step, so this is all it takes to go on bit by bit.
void write_checkpoint(Target target, const TrainState& state);
TrainState read_checkpoint(Source source, const TrainOptions& defaults);
// What a file whose sum is right holds.
TrainState checkpoint_state(const TensorFile& file, const TrainOptions& defaults);

// Of everything in a checkpoint but the sum itself: damage that leaves it readable is found by this.
std::uint64_t checkpoint_sum(const Metadata& metadata, const std::map<std::string, TensorView>& tensors);

// Of shapes, labels and features.
std::uint64_t fingerprint(const Dataset& data);

// What a network says about its data, which checkpoints leave out.
void set_facts(TrainState& state, const Dataset& data);

// The network as it is: the last one, or the best so far where the run watches for it.
enum class Which { last, best };
Network network_of(const TrainState& state, Which which = Which::last);

// A line of metrics.jsonl, and back.
// Scores are called by the task: train_accuracy, train_r2.
std::string to_json_line(const EpochReport& report, Task task);
EpochReport epoch_from_json(const std::string& line);

}  // namespace filigree::internal
