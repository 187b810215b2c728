// SPDX-License-Identifier: Apache-2.0
// Rows as their entries that are not zero: what a layer makes of a product of sparse matrices.
#pragma once

#include "device/layer_kernel.h"

namespace filigree::internal {

struct DeviceEntryRows {
  const int* begin = nullptr;  // rows + 1
  int* column = nullptr;
  float* value = nullptr;
};

template <unsigned kThreads>
struct EntryKernels {
  // Each value becomes activation(scale · value + bias[column]); kept[r] = how many of row r are not zero
  // then.
  static void finish(const LayerEpilogue& epilogue, const DeviceEntryRows& rows, unsigned count,
                     unsigned* kept, cudaStream_t stream);
  // The entries of row r that are not zero move to to[r] and after, in their order.
  static void move(const DeviceEntryRows& from, unsigned count, const unsigned* to, int* column, float* value,
                   cudaStream_t stream);
  // w[row * columns + column] = value for each entry; w is zero before.
  static void fill(const DeviceEntryRows& from, unsigned count, float* w, unsigned columns,
                   cudaStream_t stream);
};
extern template struct EntryKernels<32>;
extern template struct EntryKernels<128>;

}  // namespace filigree::internal
