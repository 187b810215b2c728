// Optimizers: what becomes of gradients. State lives with each connection.
#pragma once

#include <cstdint>
#include <vector>

#include "train/layer.h"

namespace filigree {

// Adds the gradients of all slices up into the first and returns the norm over all parameters.
double combine_gradients(std::vector<TrainLayer>& layers);

// One step with the combined gradients times `scale` (the clipping), then clears them and refreshes the
// transposed values. `step` counts from 1, for Adam.
void update(std::vector<TrainLayer>& layers, const TrainOptions& options, double lr, double scale,
            std::int64_t step);

}  // namespace filigree
