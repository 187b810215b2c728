// Rows that live move together on the device.
#pragma once

#include "device/cuda.h"

namespace filigree {

// place[r] = how many rows before r live, for rows that do; kDeadRow for the others. *count = how many live.
inline constexpr unsigned kDeadRow = 0xffffffffu;
template <unsigned kThreads>
void place_live_rows(const unsigned* live, unsigned rows, unsigned* place, unsigned* count,
                     cudaStream_t stream);

// to[neuron * to_stride + place[r]] = from[neuron * from_stride + r] for each row that lives, and the same
// for the number of the row (row_to[place[r]] = row_from[r]). Columns of `to` from the count on stay as they
// are.
template <unsigned kThreads>
void move_rows(const float* from, std::size_t from_stride, const unsigned* row_from, const unsigned* place,
               unsigned rows, unsigned neurons, float* to, std::size_t to_stride, unsigned* row_to,
               cudaStream_t stream);

#define FILIGREE_COMPACT(storage, threads)                                                              \
  storage template void place_live_rows<threads>(const unsigned*, unsigned, unsigned*, unsigned*,       \
                                                 cudaStream_t);                                         \
  storage template void move_rows<threads>(const float*, std::size_t, const unsigned*, const unsigned*, \
                                           unsigned, unsigned, float*, std::size_t, unsigned*, cudaStream_t)
FILIGREE_COMPACT(extern, 32);
FILIGREE_COMPACT(extern, 128);

}  // namespace filigree
