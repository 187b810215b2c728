// One layer of a network on a device: product, bias, clipped relu and which rows live, in one pass.
#pragma once

#include "device/connection_walk.h"

namespace filigree {

struct DeviceLayer {
  DevicePattern connections = {};  // one row per output
  const float* value = nullptr;    // null: every weight is `uniform`
  const float* bias = nullptr;     // one per output
  float uniform = 0;
  float cap = 0;  // y = min(max(z, 0), cap)
};

// y = min(max(W x + bias, 0), cap) for `rows` rows, and live[r] = 1 for those of which some y is above zero
// (others stay as they are). x and y are neuron-major: x[neuron * stride + row]; stride is a multiple of
// kThreads * kRowsPerThread, and the places from `rows` on to the next such multiple hold any numbers. Each
// sum adds its products in the order of the inputs, starting from zero: with uniform weights of a power of
// two, the CPU's bits.
template <unsigned kThreads>
void run_layer(const DeviceLayer& layer, const float* x, float* y, unsigned rows, std::size_t stride,
               unsigned* live, cudaStream_t stream);
extern template void run_layer<32>(const DeviceLayer&, const float*, float*, unsigned, std::size_t, unsigned*,
                                   cudaStream_t);
extern template void run_layer<128>(const DeviceLayer&, const float*, float*, unsigned, std::size_t,
                                    unsigned*, cudaStream_t);

}  // namespace filigree
