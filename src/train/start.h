// SPDX-License-Identifier: Apache-2.0
// Training that goes on from a given network instead of beginning by chance.
#pragma once

#include "train/state.h"

namespace filigree::internal {

// The state before the first step. Shape, densities, loss, activations and scaling are the network's and take
// the place of those in `options`; a compiled one is expanded first. Throws Error if the network cannot be
// trained, or not on this data.
TrainState start_from(const Network& network, const Dataset& data, const TrainOptions& options);

// The layers of that state, without the optimizer's memory.
std::vector<TrainLayer> layers_of(const Network& network, const TrainOptions& options, bool sparse_rows);
// Shape, densities, loss and sparsity of `options` become the network's.
void take_shape(const Network& network, TrainOptions& options);

}  // namespace filigree::internal
