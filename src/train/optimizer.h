// SPDX-License-Identifier: Apache-2.0
// Optimizers: what becomes of gradients. State lives with each connection.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/descent.h"
#include "train/layer.h"

namespace filigree::internal {

// Adds the gradients of all slices up into the first and returns the norm over all parameters.
double combine_gradients(std::vector<TrainLayer>& layers);

// What a step of the optimizer takes: the gradients times `scale` (the clipping); `step` counts from 1, for
// Adam.
DescentRates descent_rates(const TrainOptions& options, double lr, double scale, std::int64_t step);

// One step with the combined gradients (biases do not decay), then clears them and refreshes the transposed
// values.
void update(std::vector<TrainLayer>& layers, const DescentRates& rates);

}  // namespace filigree::internal
