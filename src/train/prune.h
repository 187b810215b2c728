// SPDX-License-Identifier: Apache-2.0
// Pruning: evolution that only drops, until a network is as sparse as asked.
#pragma once

#include "train/evolve.h"

namespace filigree {

// Connections each layer keeps after pruning at this moment if layers are pruned each by itself; all together
// they are what the network keeps. Throws Error if that is less than a layer must keep.
std::vector<std::size_t> kept_connections(const std::vector<TrainLayer>& layers, const TrainOptions& options,
                                          const Moment& moment);

// With PruneBy::taylor the gradients of the connections are in the first slice of each layer's.
Evolution prune(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                std::size_t slices);

}  // namespace filigree
