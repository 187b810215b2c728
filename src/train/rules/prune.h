// SPDX-License-Identifier: Apache-2.0
// What rules that prune share.
#pragma once

#include "train/rules/rule.h"

namespace filigree::internal {

// Unmarks what must go for the network, or each layer (options.redistribute), to be as sparse as it should be
// at this moment. With PruneBy::taylor the gradients of the connections are in the first slice of each
// layer's.
void mark_pruned(const std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 std::vector<Keep>& keep);

// Throws Error if the target leaves a layer too little, or if no change would come before the last.
void check_pruning(const std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment);

// What rules that only prune have in common: when they do, and what must be possible.
class PruningRule : public EvolutionRule {
 public:
  std::int64_t fewest_changes() const override { return 20; }
  std::int64_t longest_interval() const override { return 100; }
  bool once(const TrainOptions& options) const override {
    return options.pruning.schedule == PruneSchedule::once;
  }
  void check(const std::vector<TrainLayer>& layers, const TrainOptions& options,
             const Moment& moment) const override {
    check_pruning(layers, options, moment);
  }
};

}  // namespace filigree::internal
