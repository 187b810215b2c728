#include "device/compact.h"

namespace filigree {

namespace {

constexpr unsigned kWarp = 32;

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
    move_kernel(const float* from, std::size_t from_stride, const unsigned* row_from, const unsigned* place,
                unsigned rows, unsigned neurons, float* to, std::size_t to_stride, unsigned* row_to) {
  const unsigned row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows || place[row] == kDeadRow) return;
  for (unsigned neuron = blockIdx.y; neuron < neurons; neuron += gridDim.y)
    to[neuron * to_stride + place[row]] = from[neuron * from_stride + row];
  if (blockIdx.y == 0) row_to[place[row]] = row_from[row];
}

}  // namespace

template <unsigned kThreads>
void place_live_rows(const unsigned* live, unsigned rows, unsigned* place, unsigned* count,
                     cudaStream_t stream) {
  launch({dim3(1), dim3(kThreads), stream}, place_kernel<kThreads>, live, rows, place, count);
}

template <unsigned kThreads>
void move_rows(const float* from, std::size_t from_stride, const unsigned* row_from, const unsigned* place,
               unsigned rows, unsigned neurons, float* to, std::size_t to_stride, unsigned* row_to,
               cudaStream_t stream) {
  if (rows == 0 || neurons == 0) return;
  constexpr unsigned kMostBlocks = 1024;  // a grid has 65,535 in this direction at most
  const dim3 grid((rows + kThreads - 1) / kThreads, neurons < kMostBlocks ? neurons : kMostBlocks);
  launch({grid, dim3(kThreads), stream}, move_kernel<kThreads>, from, from_stride, row_from, place, rows,
         neurons, to, to_stride, row_to);
}

FILIGREE_COMPACT(, 32);
FILIGREE_COMPACT(, 128);

}  // namespace filigree
