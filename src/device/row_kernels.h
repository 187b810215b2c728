// SPDX-License-Identifier: Apache-2.0
// Rows on a device: in from sparse entries, counted, compared, moved together.
#pragma once

#include <cstdint>

#include "device/cuda.h"

namespace filigree::internal {

// Entries of rows in device memory, see SparseInputs in device.h; null: no values, every row, every column to
// the input of its number.
struct DeviceEntries {
  const unsigned long long* row_begin = nullptr;
  const std::uint16_t* column = nullptr;
  const float* value = nullptr;
  const int* input_of = nullptr;
};

// Adds the entries of each row up into x, which is zero before: x[input * stride + row].
template <unsigned kThreads>
void expand_rows(const DeviceEntries& entries, unsigned rows, float* x, std::size_t stride,
                 cudaStream_t stream);

// *count += how many rows live, each as often as weight[row[r]] says; *count is zero before.
template <unsigned kThreads>
void count_live_rows(const unsigned* live, const unsigned* row, const unsigned* weight, unsigned rows,
                     unsigned* count, cudaStream_t stream);

// place[r] = how many rows before r live, for rows that do; kDeadRow for the others. *count = how many live.
inline constexpr unsigned kDeadRow = 0xffffffffu;
template <unsigned kThreads>
void place_live_rows(const unsigned* live, unsigned rows, unsigned* place, unsigned* count,
                     cudaStream_t stream);

// Rows of `neurons` numbers, and the number of each row: x[neuron * stride + r] and row[r].
template <typename T, typename Number>
struct DevicePanel {
  T* x = nullptr;
  std::size_t stride = 0;
  Number* row = nullptr;
};

// Row r of `from` becomes row place[r] of `to`, if it lives. Rows of `to` from the count on stay as they are.
template <unsigned kThreads>
void move_rows(const DevicePanel<const float, const unsigned>& from, const unsigned* place, unsigned rows,
               unsigned neurons, const DevicePanel<float, unsigned>& to, cudaStream_t stream);

// hash[r] of a row's values: equal rows have equal hashes, whatever the sign of their zeros.
template <unsigned kThreads>
void hash_rows(const float* x, std::size_t stride, unsigned rows, unsigned neurons, unsigned long long* hash,
               cudaStream_t stream);

// differs[r] = 1 if row r and row like[r] are not equal, else 0.
template <unsigned kThreads>
void compare_rows(const float* x, std::size_t stride, const unsigned* like, unsigned rows, unsigned neurons,
                  unsigned* differs, cudaStream_t stream);

#define FILIGREE_ROWS(storage, threads)                                                                      \
  storage template void expand_rows<threads>(const DeviceEntries&, unsigned, float*, std::size_t,            \
                                             cudaStream_t);                                                  \
  storage template void count_live_rows<threads>(const unsigned*, const unsigned*, const unsigned*,          \
                                                 unsigned, unsigned*, cudaStream_t);                         \
  storage template void place_live_rows<threads>(const unsigned*, unsigned, unsigned*, unsigned*,            \
                                                 cudaStream_t);                                              \
  storage template void move_rows<threads>(const DevicePanel<const float, const unsigned>&, const unsigned*, \
                                           unsigned, unsigned, const DevicePanel<float, unsigned>&,          \
                                           cudaStream_t);                                                    \
  storage template void hash_rows<threads>(const float*, std::size_t, unsigned, unsigned,                    \
                                           unsigned long long*, cudaStream_t);                               \
  storage template void compare_rows<threads>(const float*, std::size_t, const unsigned*, unsigned,          \
                                              unsigned, unsigned*, cudaStream_t)
FILIGREE_ROWS(extern, 32);
FILIGREE_ROWS(extern, 128);

}  // namespace filigree::internal
