// SPDX-License-Identifier: Apache-2.0
// The walk over connections that products on the device share.
#pragma once

#include <cstdint>

#include "device/cuda.h"

namespace filigree::internal {

// What a block does: kThreads threads take kThreads * kRows rows or samples through kOutputs outputs.
template <unsigned kThreadsOf, unsigned kRowsOf, unsigned kOutputsOf>
struct WalkShape {
  static constexpr unsigned kThreads = kThreadsOf;
  static constexpr unsigned kRows = kRowsOf;        // of a thread: connections that are staged serve them all
  static constexpr unsigned kOutputs = kOutputsOf;  // their connections go through shared memory
  static constexpr unsigned kTogether = kThreads * kRows;
};
// Inference has rows in plenty; a batch of training is small, and blocks have to be many.
template <unsigned kThreads>
using ManyRows = WalkShape<kThreads, 4, 32>;
template <unsigned kThreads>
using FewSamples = WalkShape<kThreads, 1, 4>;

// Connections in the memory of a device: CSR, columns in 16 bits, ascending within a row.
struct DevicePattern {
  const unsigned* begin = nullptr;  // rows + 1
  const std::uint16_t* column = nullptr;
  unsigned rows = 0;
};

// Blocks that take `samples` through all rows of `w`.
template <typename Shape>
dim3 walk_grid(const DevicePattern& w, unsigned samples) {
  return dim3((samples + Shape::kTogether - 1) / Shape::kTogether,
              (w.rows + Shape::kOutputs - 1) / Shape::kOutputs);
}

// The first of this thread's samples; the others follow at distances of kThreads.
template <typename Shape>
__device__ __forceinline__ std::size_t first_sample() {
  return std::size_t{blockIdx.x} * Shape::kTogether + threadIdx.x;
}

// A block takes its samples through its rows of w, whose connections lie one after the other; kThreads of
// them at a time are staged in shared memory, each loaded by one thread, and then every thread walks over all
// of them with its own samples. finish(row, sums) is called for each row in order, by every thread with the
// sums of its own samples: each adds value · x[column] (x[column] alone if kUniform) in the order of the
// columns, starting from zero. Control flow is the same for all threads.
//
// Per connection and sample: one load of 4 bytes (neighbouring threads read neighbouring samples, 128 bytes a
// warp; where rows share their columns, most come from the first cache) and one multiply-add. The connection
// itself, 6 bytes, is loaded once for kTogether samples.
template <typename Shape, bool kUniform, typename Finish>
__device__ __forceinline__ void walk_connections(const DevicePattern& w, const float* all_values,
                                                 const float* x, std::size_t stride, const Finish& finish) {
  constexpr unsigned kThreads = Shape::kThreads, kRows = Shape::kRows;
  FILIGREE_SHARED(unsigned, begin, Shape::kOutputs + 1);
  FILIGREE_SHARED(unsigned, column, kThreads);
  FILIGREE_SHARED(float, value, kThreads);

  const unsigned first = blockIdx.y * Shape::kOutputs;
  const unsigned left = w.rows - first;
  const unsigned rows = left < Shape::kOutputs ? left : Shape::kOutputs;
  for (unsigned r = threadIdx.x; r <= rows; r += kThreads) begin[r] = w.begin[first + r];
  __syncthreads();

  const std::size_t own = first_sample<Shape>();
  float sum[kRows] = {};
  unsigned row = 0;
  // Everything before connection `e` has been added: rows that end there are done.
  const auto finish_until = [&](unsigned e) {
    for (; row < rows && begin[row + 1] <= e; ++row) {
      finish(first + row, sum);
      for (unsigned r = 0; r < kRows; ++r) sum[r] = 0;
    }
  };

  const unsigned end = begin[rows];
  for (unsigned staged = begin[0]; staged < end; staged += kThreads) {
    const unsigned count = end - staged < kThreads ? end - staged : kThreads;
    if (threadIdx.x < count) {
      column[threadIdx.x] = w.column[staged + threadIdx.x];
      if (!kUniform) value[threadIdx.x] = all_values[staged + threadIdx.x];
    }
    __syncthreads();
    for (unsigned c = 0; c < count; ++c) {
      finish_until(staged + c);
      const float* from = x + column[c] * stride + own;
      for (unsigned r = 0; r < kRows; ++r)
        sum[r] += kUniform ? from[r * kThreads] : value[c] * from[r * kThreads];
    }
    __syncthreads();  // before the next connections take their place
  }
  finish_until(end);
}

}  // namespace filigree::internal
