#include "device/layer_kernel.h"

namespace filigree {

namespace {

template <unsigned kThreads, bool kUniform>
__global__ void __launch_bounds__(kThreads) layer_kernel(DeviceLayer layer, const float* x, float* y,
                                                         unsigned rows, std::size_t stride, unsigned* live) {
  const std::size_t own = first_sample<kThreads>();
  bool lives[kRowsPerThread] = {};
  walk_connections<kThreads, kUniform>(layer.connections, layer.value, x, stride,
                                       [&](unsigned output, const float* sum) {
                                         const float bias = layer.bias[output];
                                         float* to = y + output * stride + own;
                                         for (unsigned r = 0; r < kRowsPerThread; ++r) {
                                           float z = (kUniform ? layer.uniform * sum[r] : sum[r]) + bias;
                                           z = z > 0 ? z : 0.0f;
                                           z = z < layer.cap ? z : layer.cap;
                                           to[r * kThreads] = z;
                                           lives[r] = lives[r] || z > 0;
                                         }
                                       });
  for (unsigned r = 0; r < kRowsPerThread; ++r)
    if (lives[r] && own + r * kThreads < rows) atomicMax(live + own + r * kThreads, 1u);
}

}  // namespace

template <unsigned kThreads>
void run_layer(const DeviceLayer& layer, const float* x, float* y, unsigned rows, std::size_t stride,
               unsigned* live, cudaStream_t stream) {
  if (rows == 0 || layer.connections.rows == 0) return;
  const auto kernel = layer.value == nullptr ? layer_kernel<kThreads, true> : layer_kernel<kThreads, false>;
  launch({walk_grid(layer.connections, rows, kThreads), dim3(kThreads), stream}, kernel, layer, x, y, rows,
         stride, live);
}

template void run_layer<32>(const DeviceLayer&, const float*, float*, unsigned, std::size_t, unsigned*,
                            cudaStream_t);
template void run_layer<128>(const DeviceLayer&, const float*, float*, unsigned, std::size_t, unsigned*,
                             cudaStream_t);

}  // namespace filigree
