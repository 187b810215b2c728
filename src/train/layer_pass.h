// SPDX-License-Identifier: Apache-2.0
// One layer in training on one panel of samples: the way forward and the way back.
#pragma once

#include <span>

#include "train/layer.h"

namespace filigree::internal {

// y = activation(W x + b). Panels are neuron-major with `stride` samples a neuron, any number of them for
// dense layers, else as panel_pass.h says; `sum` gets W x + b unless it is null.
void forward_layer(const TrainLayer& layer, const float* x, float* y, float* sum, std::size_t stride);

// `delta` is the gradient at the sums. Adds the gradients of weights and biases to slice number `slice` of
// the layer's. `next`, unless it is null, becomes the gradient at x: zero where x is not above zero if
// `gated`.
void backward_layer(TrainLayer& layer, std::size_t slice, const float* x, const float* delta, bool gated,
                    float* next, std::size_t stride);

// The slice's part of gradients.
std::span<float> gradient_of(TrainLayer& layer, std::size_t slice);
void add_bias_gradient(TrainLayer& layer, std::size_t slice, const float* delta, std::size_t stride);

}  // namespace filigree::internal
