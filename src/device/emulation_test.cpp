// SPDX-License-Identifier: Apache-2.0
// Tests of CUDA's stand-in: what kernels, barriers, warps, streams and copies do, and that mistakes show.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "device/cuda.h"
#include "device/device_memory.h"

namespace filigree::internal {
namespace {

class Emulation : public testing::Test {
 protected:
  Emulation() { cudaStreamCreate(&stream); }
  ~Emulation() override { cudaStreamDestroy(stream); }
  Emulation(const Emulation&) = delete;
  Emulation& operator=(const Emulation&) = delete;

  std::string fault() {
    try {
      cudaStreamSynchronize(stream);
    } catch (const EmulatedFault& error) {
      return error.what();
    }
    return "";
  }

  cudaStream_t stream = nullptr;
};

__global__ void write_places(unsigned* to) {
  to[(blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] =
      1000 * blockIdx.y + 100 * blockIdx.x + threadIdx.x;
}

TEST_F(Emulation, RunsEveryThreadOfEveryBlock) {
  std::vector<unsigned> to(2 * 3 * 5, 7);
  launch({dim3(3, 2), dim3(5), stream}, write_places, to.data());
  EXPECT_EQ(to[0], 7u) << "nothing runs before somebody waits";
  cudaStreamSynchronize(stream);
  for (unsigned y = 0; y < 2; ++y)
    for (unsigned x = 0; x < 3; ++x)
      for (unsigned t = 0; t < 5; ++t) EXPECT_EQ(to[(y * 3 + x) * 5 + t], 1000 * y + 100 * x + t);
}

template <int kThreads>
__global__ void reverse_blocks(float* values) {
  FILIGREE_SHARED(float, held, kThreads);
  const unsigned own = blockIdx.x * kThreads + threadIdx.x;
  held[threadIdx.x] = values[own];
  __syncthreads();
  values[own] = held[kThreads - 1 - threadIdx.x];
}

TEST_F(Emulation, SharesMemoryWithinABlock) {
  std::vector<float> values(4 * 32);
  std::iota(values.begin(), values.end(), 0.0f);
  launch({dim3(4), dim3(32), stream}, reverse_blocks<32>, values.data());
  cudaStreamSynchronize(stream);
  for (std::size_t b = 0; b < 4; ++b)
    for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(values[b * 32 + t], static_cast<float>(b * 32 + 31 - t));
}

__global__ void read_unset(float* to) {
  FILIGREE_SHARED(float, held, 4);
  if (threadIdx.x == 0) to[blockIdx.x] = held[2];
  __syncthreads();
  held[threadIdx.x] = 1;
}

TEST_F(Emulation, SharedMemoryHoldsNothingAtTheBeginningOfABlock) {
  std::vector<float> to(3, 0.0f);
  launch({dim3(3), dim3(4), stream}, read_unset, to.data());
  cudaStreamSynchronize(stream);
  for (const float each : to) EXPECT_TRUE(std::isnan(each));
}

__global__ void sum_warps(const int* values, int* sums, unsigned* votes) {
  int sum = values[threadIdx.x];
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_down_sync(kFullWarp, sum, by);
  const int all = __shfl_sync(kFullWarp, sum, 0);
  int other = values[threadIdx.x];
  for (int by = 16; by > 0; by /= 2) other += __shfl_xor_sync(kFullWarp, other, by);
  votes[threadIdx.x] = __ballot_sync(kFullWarp, values[threadIdx.x] % 3 == 0);
  sums[threadIdx.x] = all == other ? all : -1;
}

TEST_F(Emulation, WarpsExchangeWords) {
  std::vector<int> values(64), sums(64);
  std::vector<unsigned> votes(64);
  std::iota(values.begin(), values.end(), 0);
  launch({dim3(1), dim3(64), stream}, sum_warps, values.data(), sums.data(), votes.data());
  cudaStreamSynchronize(stream);
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(sums[static_cast<std::size_t>(t)], t < 32 ? 496 : 496 + 32 * 32);
    for (int l = 0; l < 32; ++l)
      EXPECT_EQ(votes[static_cast<std::size_t>(t)] >> l & 1,
                static_cast<unsigned>((t / 32 * 32 + l) % 3 == 0));
  }
}

__global__ void count_and_climb(int* count, int* highest) {
  atomicAdd(count, 2);
  atomicMax(highest, static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

TEST_F(Emulation, AtomicsLoseNothing) {
  int count = 0, highest = -1;
  launch({dim3(5), dim3(64), stream}, count_and_climb, &count, &highest);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(count, 640);
  EXPECT_EQ(highest, 319);
}

// Mistakes.

__global__ void barrier_for_some() {
  if (threadIdx.x < 3) __syncthreads();
}
__global__ void two_barriers() {
  if (threadIdx.x < 3)
    __syncthreads();
  else
    __syncthreads();
}
__global__ void shuffle_for_some(int* to) {
  if (threadIdx.x < 5) to[threadIdx.x] = __shfl_sync(kFullWarp, 1, 0);
}

TEST_F(Emulation, BarriersInDivergentCodeAreFaults) {
  launch({dim3(1), dim3(32), stream}, barrier_for_some);
  EXPECT_NE(fault().find("emulation_test.cpp"), std::string::npos);
  launch({dim3(1), dim3(32), stream}, two_barriers);
  EXPECT_NE(fault().find("a barrier in divergent code"), std::string::npos);
  std::vector<int> to(32);
  launch({dim3(2), dim3(32), stream}, shuffle_for_some, to.data());
  EXPECT_NE(fault().find("a warp waits"), std::string::npos);
}

TEST_F(Emulation, WhatHasNotBeenWaitedForIsNotThere) {
  DeviceArray<float> device(4);
  const std::vector<float> host{1, 2, 3, 4};
  std::vector<float> back(4, 0.0f);
  device.copy_from(host, stream);
  device.copy_to(back, stream);
  for (const float each : back) EXPECT_TRUE(std::isnan(each)) << "a missing synchronisation shows";
  cudaStreamSynchronize(stream);
  EXPECT_EQ(back, host);
}

TEST_F(Emulation, StreamsMeetAtEventsOnly) {
  cudaStream_t other = nullptr;
  cudaEvent_t copied = nullptr;
  cudaStreamCreate(&other);
  cudaEventCreate(&copied);
  DeviceArray<float> device(64);
  std::vector<float> host(64), back(64);
  std::iota(host.begin(), host.end(), 0.0f);
  device.copy_from(host, other);
  cudaEventRecord(copied, other);
  // Without waiting for the other stream there is nothing to reverse.
  launch({dim3(2), dim3(32), stream}, reverse_blocks<32>, device.data());
  device.copy_to(back, stream);
  cudaStreamSynchronize(stream);
  EXPECT_TRUE(std::isnan(back[5]));
  cudaStreamWaitEvent(stream, copied);
  launch({dim3(2), dim3(32), stream}, reverse_blocks<32>, device.data());
  device.copy_to(back, stream);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(back[0], 31.0f);
  EXPECT_EQ(back[32], 63.0f);
  cudaEventDestroy(copied);
  cudaStreamDestroy(other);
}

TEST_F(Emulation, MemoryIsUnsetAndFreedOnce) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  EXPECT_EQ(static_cast<unsigned char*>(memory)[7], 0xff);
  cudaFree(memory);
  EXPECT_THROW(cudaFree(&memory), EmulatedFault);
  EXPECT_THROW(launch({dim3(1), dim3(1), nullptr}, barrier_for_some), EmulatedFault);
  launch({dim3(1), dim3(2048), stream}, barrier_for_some);
  EXPECT_NE(fault().find("2048 threads"), std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
