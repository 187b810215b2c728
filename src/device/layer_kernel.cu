// SPDX-License-Identifier: Apache-2.0
#include "device/layer_kernel.h"

#include "device/activate.h"

namespace filigree::internal {

namespace {

template <unsigned kThreads, bool kUniform>
__global__ void __launch_bounds__(kThreads) layer_kernel(DeviceLayer layer, const float* x, float* y,
                                                         unsigned rows, std::size_t stride, unsigned* live) {
  const LayerEpilogue& e = layer.epilogue;
  using Shape = ManyRows<kThreads>;
  constexpr unsigned kRows = Shape::kRows;
  const std::size_t own = first_sample<Shape>();
  bool lives[kRows] = {};
  walk_connections<Shape, kUniform>(
      layer.connections, layer.value, x, stride, [&](unsigned output, const float* sum) {
        const float bias = e.bias[output];
        float* to = y + output * stride + own;
        for (unsigned r = 0; r < kRows; ++r) {
          const float z = device_activation(e.activation, e.scale * sum[r] + bias);
          to[r * kThreads] = z;
          lives[r] = lives[r] || z != 0;
        }
      });
  for (unsigned r = 0; r < kRows; ++r)
    if (lives[r] && own + r * kThreads < rows) atomicMax(live + own + r * kThreads, 1u);
}

constexpr unsigned kOutputsPerBlock = 32;

// A thread walks down kOutputsPerBlock outputs of a row.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) finish_kernel(LayerEpilogue e, unsigned outputs, float* y,
                                                          unsigned rows, std::size_t stride, unsigned* live) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const unsigned first = blockIdx.y * kOutputsPerBlock;
  const unsigned end = first + kOutputsPerBlock < outputs ? first + kOutputsPerBlock : outputs;
  bool lives = false;
  for (unsigned output = first; output < end; ++output) {
    float& at = y[output * stride + row];
    at = device_activation(e.activation, e.scale * at + e.bias[output]);
    lives = lives || at != 0;
  }
  if (lives) atomicMax(live + row, 1u);
}

}  // namespace

template <unsigned kThreads>
void run_layer(const DeviceLayer& layer, const float* x, float* y, unsigned rows, std::size_t stride,
               unsigned* live, cudaStream_t stream) {
  if (rows == 0 || layer.connections.rows == 0) return;
  const auto kernel = layer.value == nullptr ? layer_kernel<kThreads, true> : layer_kernel<kThreads, false>;
  launch({walk_grid<ManyRows<kThreads>>(layer.connections, rows), dim3(kThreads), stream}, kernel, layer, x,
         y, rows, stride, live);
}

template <unsigned kThreads>
void finish_layer(const LayerEpilogue& epilogue, unsigned outputs, float* y, unsigned rows,
                  std::size_t stride, unsigned* live, cudaStream_t stream) {
  if (rows == 0 || outputs == 0) return;
  const dim3 grid((rows + kThreads - 1) / kThreads, (outputs + kOutputsPerBlock - 1) / kOutputsPerBlock);
  launch({grid, dim3(kThreads), stream}, finish_kernel<kThreads>, epilogue, outputs, y, rows, stride, live);
}

FILIGREE_LAYER(, 32);
FILIGREE_LAYER(, 128);

}  // namespace filigree::internal
