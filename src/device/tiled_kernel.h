// SPDX-License-Identifier: Apache-2.0
// A layer as Gokhale et al. compute it: full matrices in square tiles through shared memory, one thread for
// each output of each row, rows that are empty left out. The baseline of that paper.
#pragma once

#include "device/cuda.h"

namespace filigree::internal {

// y = min(max(x w + bias, 0), cap), row-major: x is rows × inputs, w inputs × outputs, y rows × outputs.
// `count` holds how many numbers of each row of x are not zero, and `next_count` gets those of y. Rows
// without any stay empty: every bias must be at most zero. Blocks are kTile × kTile threads.
template <unsigned kTile>
void run_tiled_layer(const float* x, const unsigned* count, unsigned rows, unsigned inputs, const float* w,
                     const float* bias, unsigned outputs, float cap, float* y, unsigned* next_count,
                     cudaStream_t stream);
extern template void run_tiled_layer<8>(const float*, const unsigned*, unsigned, unsigned, const float*,
                                        const float*, unsigned, float, float*, unsigned*, cudaStream_t);
extern template void run_tiled_layer<32>(const float*, const unsigned*, unsigned, unsigned, const float*,
                                         const float*, unsigned, float, float*, unsigned*, cudaStream_t);

}  // namespace filigree::internal
