// SPDX-License-Identifier: Apache-2.0
// Which connections could grow, on a device: costs of neurons, and the largest gradients of positions that
// are free. The full gradient never exists: tiles of it are computed, looked at and forgotten, twice.
#pragma once

#include "device/connection_walk.h"
#include "device/device_training.h"

namespace filigree::internal {

// The gradients at (row, column) = the sum over samples of a[row] b[column], for all rows and columns, or for
// those listed, at positions that `taken` does not hold.
struct GrowthSearch {
  const float *a = nullptr, *b = nullptr;  // neuron-major
  unsigned width = 0;                      // samples
  std::size_t stride = 0;
  DevicePattern taken = {};
  const unsigned *row_list = nullptr, *column_list = nullptr;  // null: every one
  unsigned rows = 0, columns = 0;                              // of the lists
};

// Magnitudes fall into buckets by exponent and the first four bits of the mantissa.
inline constexpr unsigned kGrowthBuckets = 4096;
// By the threads of a block, 32 or 128.
template <unsigned kThreads>
struct GrowthKernels {
  // cost[r] = the sum over `width` samples of |a[r]|, in double, for each of `rows` rows.
  static void sum_magnitudes(const float* a, unsigned rows, unsigned width, std::size_t stride, double* cost,
                             cudaStream_t stream);
  // bucket[i] += how many gradients other than zero fall there.
  static void count_gradients(const GrowthSearch& search, unsigned* bucket, cudaStream_t stream);
  // Those of bucket `least` and above, in any order; *count, zero before, becomes how many there are, of
  // which the first `room` are kept.
  static void collect_gradients(const GrowthSearch& search, unsigned least, PlacedGradient* found,
                                unsigned room, unsigned* count, cudaStream_t stream);
};
extern template struct GrowthKernels<32>;
extern template struct GrowthKernels<128>;

}  // namespace filigree::internal
