// SPDX-License-Identifier: Apache-2.0
#include "device/tiled_kernel.h"

#include "device/device_memory.h"

namespace filigree::internal {

namespace {

// Per output of a row: as many multiply-adds as there are inputs, zeros included; each number of a tile is
// loaded from memory once for kTile threads.
template <unsigned kTile>
__global__ void __launch_bounds__(kTile* kTile)
    tiled_kernel(FullLayer layer, unsigned rows, CountedRows<const float, const unsigned> x,
                 CountedRows<float, unsigned> y) {
  FILIGREE_SHARED(float, held_x, kTile* kTile);
  FILIGREE_SHARED(float, held_w, kTile* kTile);
  FILIGREE_SHARED(unsigned, any, 1);  // does a row of this block have anything in it?

  const unsigned row = blockIdx.y * kTile + threadIdx.y;
  const unsigned output = blockIdx.x * kTile + threadIdx.x;
  const unsigned own = threadIdx.y * kTile + threadIdx.x;
  const bool full = row < rows && x.count[row] != 0;
  if (own == 0) any[0] = 0;
  __syncthreads();
  if (threadIdx.x == 0 && full) atomicMax(any, 1u);
  __syncthreads();

  float sum = 0;
  const unsigned end = any[0] != 0 ? layer.inputs : 0;  // the same for all threads
  for (unsigned first = 0; first < end; first += kTile) {
    const unsigned across = first + threadIdx.x, down = first + threadIdx.y;
    held_x[own] = full && across < layer.inputs ? x.x[std::size_t{row} * layer.inputs + across] : 0.0f;
    held_w[own] = output < layer.outputs && down < layer.inputs
                      ? layer.w[std::size_t{down} * layer.outputs + output]
                      : 0.0f;
    __syncthreads();
    for (unsigned i = 0; i < kTile; ++i)
      sum += held_x[threadIdx.y * kTile + i] * held_w[i * kTile + threadIdx.x];
    __syncthreads();
  }
  if (row >= rows || output >= layer.outputs) return;
  float z = full ? sum + layer.bias[output] : 0.0f;
  z = z > 0 ? z : 0.0f;
  z = z < layer.cap ? z : layer.cap;
  y.x[std::size_t{row} * layer.outputs + output] = z;
  if (z > 0) atomicAdd(y.count + row, 1u);
}

}  // namespace

template <unsigned kTile>
void run_tiled_layer(const FullLayer& layer, unsigned rows, const CountedRows<const float, const unsigned>& x,
                     const CountedRows<float, unsigned>& y, cudaStream_t stream) {
  if (rows == 0 || layer.outputs == 0) return;
  check_cuda(cudaMemsetAsync(y.count, 0, rows * sizeof(unsigned), stream), "clearing memory");
  const dim3 grid((layer.outputs + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  launch({grid, dim3(kTile, kTile), stream}, tiled_kernel<kTile>, layer, rows, x, y);
}

template void run_tiled_layer<8>(const FullLayer&, unsigned, const CountedRows<const float, const unsigned>&,
                                 const CountedRows<float, unsigned>&, cudaStream_t);
template void run_tiled_layer<32>(const FullLayer&, unsigned, const CountedRows<const float, const unsigned>&,
                                  const CountedRows<float, unsigned>&, cudaStream_t);

}  // namespace filigree::internal
