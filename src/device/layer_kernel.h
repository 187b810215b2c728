// SPDX-License-Identifier: Apache-2.0
// One layer of a network on a device: product, bias, activation and which rows live, in one pass.
#pragma once

#include "device/connection_walk.h"
#include "filigree/activation.h"

namespace filigree::internal {

// What becomes of a sum.
struct LayerEpilogue {
  const float* bias = nullptr;  // one per output
  float scale = 1;              // z = scale · sum + bias
  ActivationFunction activation = {};
};

struct DeviceLayer {
  DevicePattern connections = {};  // one row per output
  const float* value = nullptr;    // null: every weight is the same, and `epilogue.scale` has it
  LayerEpilogue epilogue = {};
};

// y = activation(scale · (W x) + bias) for `rows` rows, and live[r] = 1 for those of which some y is not zero
// (others stay as they are). x and y are neuron-major: x[neuron * stride + row]; stride is a multiple of
// ManyRows<kThreads>::kTogether, and the places from `rows` on to the next such multiple hold any numbers.
// Each sum adds its products in the order of the inputs, starting from zero: with weights that are one power
// of two, the CPU's bits.
template <unsigned kThreads>
void run_layer(const DeviceLayer& layer, const float* x, float* y, unsigned rows, std::size_t stride,
               unsigned* live, cudaStream_t stream);

// The epilogue alone, on sums that another product left in y.
template <unsigned kThreads>
void finish_layer(const LayerEpilogue& epilogue, unsigned outputs, float* y, unsigned rows,
                  std::size_t stride, unsigned* live, cudaStream_t stream);

#define FILIGREE_LAYER(storage, threads)                                                                     \
  storage template void run_layer<threads>(const DeviceLayer&, const float*, float*, unsigned, std::size_t,  \
                                           unsigned*, cudaStream_t);                                         \
  storage template void finish_layer<threads>(const LayerEpilogue&, unsigned, float*, unsigned, std::size_t, \
                                              unsigned*, cudaStream_t)
FILIGREE_LAYER(extern, 32);
FILIGREE_LAYER(extern, 128);

}  // namespace filigree::internal
