// SPDX-License-Identifier: Apache-2.0
#include "device/growth_kernels.h"

#include <cmath>
#include <cstring>

namespace filigree::internal {

namespace {

constexpr unsigned kWarp = 32, kTile = 32;

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    cost_kernel(const float* a, unsigned rows, unsigned width, std::size_t stride, double* cost) {
  constexpr unsigned kWarps = kThreads / kWarp;
  const unsigned lane = threadIdx.x % kWarp;
  for (unsigned row = blockIdx.x * kWarps + threadIdx.x / kWarp; row < rows; row += gridDim.x * kWarps) {
    double sum = 0;
    for (unsigned s = lane; s < width; s += kWarp) sum += std::fabs(a[row * stride + s]);
    for (unsigned by = kWarp / 2; by > 0; by /= 2) sum += __shfl_down_sync(kFullWarp, sum, by);
    if (lane == 0) cost[row] = sum;
  }
}

__device__ __forceinline__ unsigned bucket_of(float gradient) {
  unsigned bits = 0;
  memcpy(&bits, &gradient, sizeof(bits));
  return (bits & 0x7fffffffu) >> 19;
}

__device__ __forceinline__ bool holds(const DevicePattern& pattern, unsigned row, unsigned column) {
  unsigned first = pattern.begin[row], last = pattern.begin[row + 1];
  while (first < last) {
    const unsigned middle = (first + last) / 2;
    if (pattern.column[middle] < column)
      first = middle + 1;
    else
      last = middle;
  }
  return first < pattern.begin[row + 1] && pattern.column[first] == column;
}

// visit(row, column, gradient) for each place of this block's tile that is free and not zero: a tile of 32
// rows against 32 columns, 32 samples at a time through shared memory. Per sample and thread: one load of a
// column's number and kEach of rows' (the same for a warp), kEach multiply-adds.
template <unsigned kThreads, typename Visit>
__device__ __forceinline__ void walk_tile(const GrowthSearch& s, const Visit& visit) {
  FILIGREE_SHARED(float, a, kTile*(kWarp + 1));
  FILIGREE_SHARED(float, b, kTile*(kWarp + 1));
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  constexpr unsigned kWarps = kThreads / kWarp, kEach = kTile / kWarps;  // rows that a thread adds up
  const unsigned first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  float sum[kEach] = {};
  for (unsigned sample = 0; sample < s.width; sample += kWarp) {
    for (unsigned i = warp; i < kTile; i += kWarps) {
      const unsigned row = first_row + i, column = first_column + i;
      const bool there = sample + lane < s.width;
      a[i * (kWarp + 1) + lane] =
          there && row < s.rows
              ? s.a[(s.row_list == nullptr ? row : s.row_list[row]) * s.stride + sample + lane]
              : 0.0f;
      b[i * (kWarp + 1) + lane] =
          there && column < s.columns
              ? s.b[(s.column_list == nullptr ? column : s.column_list[column]) * s.stride + sample + lane]
              : 0.0f;
    }
    __syncthreads();
    for (unsigned k = 0; k < kWarp; ++k) {
      const float of_column = b[lane * (kWarp + 1) + k];
      for (unsigned i = 0; i < kEach; ++i) sum[i] += a[(warp * kEach + i) * (kWarp + 1) + k] * of_column;
    }
    __syncthreads();
  }
  for (unsigned i = 0; i < kEach; ++i) {
    const unsigned row = first_row + warp * kEach + i, column = first_column + lane;
    if (row >= s.rows || column >= s.columns || sum[i] == 0) continue;
    visit(s.row_list == nullptr ? row : s.row_list[row],
          s.column_list == nullptr ? column : s.column_list[column], sum[i]);
  }
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads) count_kernel(GrowthSearch search, unsigned* bucket) {
  walk_tile<kThreads>(search, [&](unsigned row, unsigned column, float gradient) {
    if (!holds(search.taken, row, column)) atomicAdd(bucket + bucket_of(gradient), 1u);
  });
}

template <unsigned kThreads>
__global__ void __launch_bounds__(kThreads)
    collect_kernel(GrowthSearch search, unsigned least, PlacedGradient* found, unsigned room,
                   unsigned* count) {
  walk_tile<kThreads>(search, [&](unsigned row, unsigned column, float gradient) {
    if (bucket_of(gradient) < least || holds(search.taken, row, column)) return;
    const unsigned at = atomicAdd(count, 1u);
    if (at < room) found[at] = {gradient, row, column};
  });
}

dim3 tiles(const GrowthSearch& search) {
  return dim3((search.columns + kTile - 1) / kTile, (search.rows + kTile - 1) / kTile);
}

}  // namespace

template <unsigned kThreads>
void GrowthKernels<kThreads>::sum_magnitudes(const float* a, unsigned rows, unsigned width,
                                             std::size_t stride, double* cost, cudaStream_t stream) {
  if (rows == 0) return;
  constexpr unsigned kWarps = kThreads / kWarp;
  launch({dim3((rows + kWarps - 1) / kWarps), dim3(kThreads), stream}, cost_kernel<kThreads>, a, rows, width,
         stride, cost);
}

template <unsigned kThreads>
void GrowthKernels<kThreads>::count_gradients(const GrowthSearch& search, unsigned* bucket,
                                              cudaStream_t stream) {
  if (search.rows == 0 || search.columns == 0) return;
  launch({tiles(search), dim3(kThreads), stream}, count_kernel<kThreads>, search, bucket);
}

template <unsigned kThreads>
void GrowthKernels<kThreads>::collect_gradients(const GrowthSearch& search, unsigned least,
                                                PlacedGradient* found, unsigned room, unsigned* count,
                                                cudaStream_t stream) {
  if (search.rows == 0 || search.columns == 0) return;
  launch({tiles(search), dim3(kThreads), stream}, collect_kernel<kThreads>, search, least, found, room,
         count);
}

template struct GrowthKernels<32>;
template struct GrowthKernels<128>;

}  // namespace filigree::internal
