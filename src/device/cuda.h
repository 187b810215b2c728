// SPDX-License-Identifier: Apache-2.0
// CUDA, or what stands in for it where nvcc does not compile: the only place that asks which it is.
#pragma once

#include <cstddef>

// FILIGREE_CUDA_HOST: code without kernels, which the host's compiler takes.
#if defined(__CUDACC__) || defined(FILIGREE_CUDA_HOST)
#include <cuda_runtime.h>
#else
#include "device/test_cuda.h"
#endif

#ifdef __CUDACC__

// An array that the threads of a block share. What it holds at first is anything.
#define FILIGREE_SHARED(type, name, count) __shared__ type name[count]

namespace filigree::internal {

inline constexpr unsigned kBlockThreads = 128;  // where nothing else is asked for

struct LaunchShape {
  dim3 grid, block;
  cudaStream_t stream = nullptr;
};

// kernel<<<grid, block, 0, stream>>>(arguments …)
template <typename... Parameters, typename... Arguments>
void launch(const LaunchShape& shape, void (*kernel)(Parameters...), Arguments... arguments) {
  kernel<<<shape.grid, shape.block, 0, shape.stream>>>(static_cast<Parameters>(arguments)...);
}

}  // namespace filigree::internal

#endif

namespace filigree::internal {

inline constexpr unsigned kFullWarp = 0xffffffffu;  // all 32 threads of a warp take part

}  // namespace filigree::internal
