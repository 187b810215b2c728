// SPDX-License-Identifier: Apache-2.0
#include "device/entry_kernels.h"

#include "device/activate.h"

namespace filigree::internal {

namespace {

// A thread for each row: neighbours read what lies a row apart, which a baseline may cost.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    finish_kernel(LayerEpilogue e, DeviceEntryRows rows, unsigned count, unsigned* kept) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= count) return;
  unsigned other_than_zero = 0;
  for (int i = rows.begin[row]; i < rows.begin[row + 1]; ++i) {
    const float z = device_activation(e.activation, e.scale * rows.value[i] + e.bias[rows.column[i]]);
    rows.value[i] = z;
    other_than_zero += z != 0 ? 1 : 0;
  }
  kept[row] = other_than_zero;
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    move_kernel(DeviceEntryRows from, unsigned count, const unsigned* to, int* column, float* value) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= count) return;
  unsigned at = to[row];
  for (int i = from.begin[row]; i < from.begin[row + 1]; ++i) {
    if (from.value[i] == 0) continue;
    column[at] = from.column[i];
    value[at++] = from.value[i];
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    fill_kernel(DeviceEntryRows from, unsigned count, float* w, unsigned columns) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= count) return;
  for (int i = from.begin[row]; i < from.begin[row + 1]; ++i)
    w[std::size_t{row} * columns + static_cast<unsigned>(from.column[i])] = from.value[i];
}

}  // namespace

template <unsigned kThreads>
void EntryKernels<kThreads>::finish(const LayerEpilogue& epilogue, const DeviceEntryRows& rows,
                                    unsigned count, unsigned* kept, cudaStream_t stream) {
  if (count == 0) return;
  launch({dim3((count + kThreads - 1) / kThreads), dim3(kThreads), stream}, finish_kernel<kThreads>, epilogue,
         rows, count, kept);
}

template <unsigned kThreads>
void EntryKernels<kThreads>::move(const DeviceEntryRows& from, unsigned count, const unsigned* to,
                                  int* column, float* value, cudaStream_t stream) {
  if (count == 0) return;
  launch({dim3((count + kThreads - 1) / kThreads), dim3(kThreads), stream}, move_kernel<kThreads>, from,
         count, to, column, value);
}

template <unsigned kThreads>
void EntryKernels<kThreads>::fill(const DeviceEntryRows& from, unsigned count, float* w, unsigned columns,
                                  cudaStream_t stream) {
  if (count == 0) return;
  launch({dim3((count + kThreads - 1) / kThreads), dim3(kThreads), stream}, fill_kernel<kThreads>, from,
         count, w, columns);
}

template struct EntryKernels<32>;
template struct EntryKernels<128>;

}  // namespace filigree::internal
