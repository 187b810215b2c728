// SPDX-License-Identifier: Apache-2.0
// CUDA without a GPU, for tests: device code compiled by the host's compiler, one thread for each CUDA
// thread.
//
// Kernels, barriers and host code really run, under sanitizers too. The threads of a block run side
// by side, blocks that share memory one after the other. A stream does nothing before somebody waits for it.
// Memory that was allocated, arrays that a block shares, and the target of a copy that has not been waited
// for hold 0xff in every byte: a NaN, or a very large number. What a GPU would leave undefined or hang at is
// an EmulatedFault with a message. What it cannot show: speed, warps that run in step, memory order weaker
// than the host's, coalescing, spills.
//
// FILIGREE_EMULATED="devices=2 memory=1000000" in the environment says what there is (1 device with 1 GiB);
// "driver=0" that there is no driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

// NOLINTBEGIN: these are CUDA's names.
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __ldg(address) (*(address))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local uint3 threadIdx{0, 0, 0}, blockIdx{0, 0, 0};
inline thread_local dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorNotReady = 600
};
enum cudaMemcpyKind {
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

namespace filigree::internal::emulated {
class Stream;
class Event;
// A place in the source, for messages.
struct Where {
  const char* file;
  unsigned line;
};
constexpr Where here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return {file, line};
}
}  // namespace filigree::internal::emulated
using cudaStream_t = filigree::internal::emulated::Stream*;
using cudaEvent_t = filigree::internal::emulated::Event*;

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
struct cudaDeviceProp {
  char name[256];
  int multiProcessorCount, major, minor;
};
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMallocHost(void** memory, std::size_t bytes);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream);

// Every thread of the block comes here before any goes on. All by the same call.
#define __syncthreads() filigree::internal::emulated::sync_block(filigree::internal::emulated::here())
// The same for the 32 threads of a warp; all of them must take part.
#define __syncwarp() filigree::internal::emulated::sync_warp(filigree::internal::emulated::here())

// NOLINTEND

namespace filigree::internal {

// What a GPU would leave undefined, or hang at.
class EmulatedFault : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

inline constexpr unsigned kBlockThreads = 32;  // each is a thread of the host

struct LaunchShape {
  dim3 grid, block;
  cudaStream_t stream = nullptr;
};

namespace emulated {

void touch_shared();
void sync_block(Where where);
void sync_warp(Where where);
// A word from each thread of the warp to all of them: the 32 words, in the order of lanes, until the next
// call.
const std::uint64_t* exchange(std::uint64_t word, Where where);
unsigned lane();

void enqueue(cudaStream_t stream, std::function<void()> work);
void run_grid(const LaunchShape& shape, const std::function<void()>& thread);

// Memory that blocks share begins every block with 0xff in all bytes.
class SharedMemory {
 public:
  SharedMemory(void* memory, std::size_t bytes);
};
template <typename T, std::size_t kCount>
struct SharedArray {
  static_assert(std::is_trivial_v<T>);
  alignas(16) T values[kCount];
  SharedMemory registered{values, sizeof(values)};
};

}  // namespace emulated

template <typename... Parameters, typename... Arguments>
void launch(const LaunchShape& shape, void (*kernel)(Parameters...), Arguments... arguments) {
  emulated::enqueue(shape.stream, [=] {
    emulated::run_grid(shape, [=] { kernel(static_cast<Parameters>(arguments)...); });
  });
}

}  // namespace filigree::internal

#define FILIGREE_SHARED(type, name, count)                                    \
  static filigree::internal::emulated::SharedArray<type, (count)> name##_all; \
  filigree::internal::emulated::touch_shared();                               \
  type(&name)[count] = name##_all.values

// NOLINTBEGIN: and these.
template <typename T>
T __shfl_sync(unsigned, T value, int from, int = 32,
              filigree::internal::emulated::Where where = filigree::internal::emulated::here()) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = filigree::internal::emulated::exchange(word, where)[from & 31];
  std::memcpy(&value, &word, sizeof(T));
  return value;
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int = 32,
                   filigree::internal::emulated::Where where = filigree::internal::emulated::here()) {
  const unsigned own = filigree::internal::emulated::lane();
  return __shfl_sync(mask, value, static_cast<int>(own + by < 32 ? own + by : own), 32, where);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int by, int = 32,
                  filigree::internal::emulated::Where where = filigree::internal::emulated::here()) {
  return __shfl_sync(mask, value, static_cast<int>(filigree::internal::emulated::lane()) ^ by, 32, where);
}
inline unsigned __ballot_sync(
    unsigned, int vote, filigree::internal::emulated::Where where = filigree::internal::emulated::here()) {
  const std::uint64_t* votes = filigree::internal::emulated::exchange(vote != 0, where);
  unsigned bits = 0;
  for (unsigned i = 0; i < 32; ++i) bits |= static_cast<unsigned>(votes[i]) << i;
  return bits;
}
inline int __any_sync(unsigned mask, int vote,
                      filigree::internal::emulated::Where where = filigree::internal::emulated::here()) {
  return __ballot_sync(mask, vote, where) != 0;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
template <typename T>
T atomicAdd(T* address, T by) {
  return std::atomic_ref<T>(*address).fetch_add(by);
}
template <typename T>
T atomicMax(T* address, T value) {
  std::atomic_ref<T> target(*address);
  T before = target.load();
  while (before < value && !target.compare_exchange_weak(before, value)) {
  }
  return before;
}
// NOLINTEND
