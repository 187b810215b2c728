// SPDX-License-Identifier: Apache-2.0
// A layer as Gokhale et al. compute it: full matrices in square tiles through shared memory, one thread for
// each output of each row, rows that are empty left out. The baseline of that paper.
#pragma once

#include "device/cuda.h"

namespace filigree::internal {

struct FullLayer {
  const float* w = nullptr;  // inputs × outputs, row-major
  const float* bias = nullptr;
  unsigned inputs = 0, outputs = 0;
  float cap = 0;
};

// Row-major rows, and how many numbers of each are not zero.
template <typename T, typename Count>
struct CountedRows {
  T* x = nullptr;
  Count* count = nullptr;
};

// y = min(max(x w + bias, 0), cap). Rows of x without anything that is not zero stay empty: every bias must
// be at most zero. Blocks are kTile × kTile threads.
template <unsigned kTile>
void run_tiled_layer(const FullLayer& layer, unsigned rows, const CountedRows<const float, const unsigned>& x,
                     const CountedRows<float, unsigned>& y, cudaStream_t stream);
extern template void run_tiled_layer<8>(const FullLayer&, unsigned,
                                        const CountedRows<const float, const unsigned>&,
                                        const CountedRows<float, unsigned>&, cudaStream_t);
extern template void run_tiled_layer<32>(const FullLayer&, unsigned,
                                         const CountedRows<const float, const unsigned>&,
                                         const CountedRows<float, unsigned>&, cudaStream_t);

}  // namespace filigree::internal
