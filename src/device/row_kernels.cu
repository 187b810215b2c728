// SPDX-License-Identifier: Apache-2.0
#include "device/row_kernels.h"

#include <cstring>

namespace filigree::internal {

namespace {

constexpr unsigned kWarp = 32;

__device__ __forceinline__ unsigned bits_of(float value) {
  unsigned bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

// A thread for each row: its entries are added in their order, as the CPU adds them.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    expand_kernel(DeviceEntries entries, unsigned rows, float* x, std::size_t stride) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const unsigned long long end = entries.row_begin[row + 1];
  for (unsigned long long e = entries.row_begin[row]; e < end; ++e) {
    const int column = entries.column[e];
    const int input = entries.input_of == nullptr ? column : entries.input_of[column];
    if (input >= 0)
      x[static_cast<unsigned>(input) * stride + row] += entries.value == nullptr ? 1.0f : entries.value[e];
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const unsigned* live, const unsigned* row, const unsigned* weight, unsigned rows,
                 unsigned* count) {
  const unsigned r = blockIdx.x * kThreads + threadIdx.x;
  unsigned own = r < rows && live[r] != 0 ? weight[row[r]] : 0;
  for (unsigned by = kWarp / 2; by > 0; by /= 2) own += __shfl_down_sync(kFullWarp, own, by);
  if (threadIdx.x % kWarp == 0 && own > 0) atomicAdd(count, own);
}

// A thread for each row, walking down its neurons: neighbouring threads read neighbouring rows.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) hash_kernel(const float* x, std::size_t stride, unsigned rows,
                                                        unsigned neurons, unsigned long long* hash) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  unsigned long long h = 0x9e3779b97f4a7c15ull;
  for (unsigned n = 0; n < neurons; ++n) {
    const float value = x[n * stride + row] + 0.0f;  // -0 becomes 0
    h = (h ^ bits_of(value)) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  hash[row] = h;
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    compare_kernel(const float* x, std::size_t stride, const unsigned* like, unsigned rows, unsigned neurons,
                   unsigned* differs) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  unsigned different = 0;
  for (unsigned n = 0; n < neurons && different == 0; ++n)
    different = x[n * stride + row] == x[n * stride + like[row]] ? 0 : 1;
  differs[row] = different;
}

// One block walks over all rows: a bit from each thread, counted within warps by ballots and across warps by
// thread 0. 60,000 rows are 469 rounds of 128; a round is two barriers.
template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    place_kernel(const unsigned* live, unsigned rows, unsigned* place, unsigned* count) {
  constexpr unsigned kWarps = kThreads / kWarp;
  FILIGREE_SHARED(unsigned, before, kWarps + 1);  // live rows before each warp's
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  unsigned placed = 0;
  for (unsigned first = 0; first < rows; first += kThreads) {
    const unsigned row = first + threadIdx.x;
    const bool lives = row < rows && live[row] != 0;
    const unsigned bits = __ballot_sync(kFullWarp, lives);
    if (lane == 0) before[warp + 1] = static_cast<unsigned>(__popc(bits));
    __syncthreads();
    if (threadIdx.x == 0) {
      before[0] = placed;
      for (unsigned w = 1; w <= kWarps; ++w) before[w] += before[w - 1];
    }
    __syncthreads();
    if (row < rows)
      place[row] = lives ? before[warp] + static_cast<unsigned>(__popc(bits & ((1u << lane) - 1))) : kDeadRow;
    placed = before[kWarps];
    __syncthreads();  // everybody has read it
  }
  if (threadIdx.x == 0) *count = placed;
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    move_kernel(DevicePanel<const float, const unsigned> from, const unsigned* place, unsigned rows,
                unsigned neurons, DevicePanel<float, unsigned> to) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows || place[row] == kDeadRow) return;
  for (unsigned neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to.x[neuron * to.stride + place[row]] = from.x[neuron * from.stride + row];
  if (blockIdx.y == 0) to.row[place[row]] = from.row[row];
}

unsigned blocks_of(unsigned rows, unsigned threads) {
  return (rows + threads - 1) / threads;
}

}  // namespace

template <unsigned kThreads>
void place_live_rows(const unsigned* live, unsigned rows, unsigned* place, unsigned* count,
                     cudaStream_t stream) {
  launch({dim3(1), dim3(kThreads), stream}, place_kernel<kThreads>, live, rows, place, count);
}

template <unsigned kThreads>
void move_rows(const DevicePanel<const float, const unsigned>& from, const unsigned* place, unsigned rows,
               unsigned neurons, const DevicePanel<float, unsigned>& to, cudaStream_t stream) {
  if (rows == 0 || neurons == 0) return;
  constexpr unsigned kMostBlocks = 1024;  // a grid has 65,535 in this direction at most
  const dim3 grid(blocks_of(rows, kThreads), neurons < kMostBlocks ? neurons : kMostBlocks);
  launch({grid, dim3(kThreads), stream}, move_kernel<kThreads>, from, place, rows, neurons, to);
}

template <unsigned kThreads>
void expand_rows(const DeviceEntries& entries, unsigned rows, float* x, std::size_t stride,
                 cudaStream_t stream) {
  if (rows == 0) return;
  launch({dim3(blocks_of(rows, kThreads)), dim3(kThreads), stream}, expand_kernel<kThreads>, entries, rows, x,
         stride);
}

template <unsigned kThreads>
void count_live_rows(const unsigned* live, const unsigned* row, const unsigned* weight, unsigned rows,
                     unsigned* count, cudaStream_t stream) {
  if (rows == 0) return;
  launch({dim3(blocks_of(rows, kThreads)), dim3(kThreads), stream}, count_kernel<kThreads>, live, row, weight,
         rows, count);
}

template <unsigned kThreads>
void hash_rows(const float* x, std::size_t stride, unsigned rows, unsigned neurons, unsigned long long* hash,
               cudaStream_t stream) {
  if (rows == 0) return;
  launch({dim3(blocks_of(rows, kThreads)), dim3(kThreads), stream}, hash_kernel<kThreads>, x, stride, rows,
         neurons, hash);
}

template <unsigned kThreads>
void compare_rows(const float* x, std::size_t stride, const unsigned* like, unsigned rows, unsigned neurons,
                  unsigned* differs, cudaStream_t stream) {
  if (rows == 0) return;
  launch({dim3(blocks_of(rows, kThreads)), dim3(kThreads), stream}, compare_kernel<kThreads>, x, stride, like,
         rows, neurons, differs);
}

FILIGREE_ROWS(, 32);
FILIGREE_ROWS(, 128);

}  // namespace filigree::internal
