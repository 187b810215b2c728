// SPDX-License-Identifier: Apache-2.0
// Mistakes in device code that a sanitizer must find: device_faults MISTAKE. Run by tests that pass if it
// fails.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "device/device_memory.h"

namespace filigree::internal {
namespace {

enum class Mistake { none, after_staging, before_restaging, out_of_bounds };

// Each block adds up rounds of values that its threads stage for each other.
template <Mistake kMistake>
__global__ void sum_staged(const float* values, unsigned rounds, float* sums) {
  constexpr unsigned kThreads = 32;
  FILIGREE_SHARED(float, staged, kThreads);
  float sum = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    staged[threadIdx.x] =
        values[round * kThreads + threadIdx.x + (kMistake == Mistake::out_of_bounds ? 1 : 0)];
    if (kMistake != Mistake::after_staging) __syncthreads();
    for (unsigned i = 0; i < kThreads; ++i) sum += staged[i];
    if (kMistake != Mistake::before_restaging) __syncthreads();
  }
  sums[threadIdx.x] = sum;
}

template <Mistake kMistake>
int run() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  const std::vector<float> values(64, 1.0f);
  std::vector<float> back(32);
  {
    DeviceArray<float> on_device(64), sums(32);
    on_device.copy_from(values, stream);
    launch({dim3(1), dim3(32), stream}, sum_staged<kMistake>, on_device.data(), 2u, sums.data());
    sums.copy_to(back, stream);
    cudaStreamSynchronize(stream);
  }
  cudaStreamDestroy(stream);
  for (const float sum : back)
    if (sum != 64) return std::printf("a sum is %g\n", static_cast<double>(sum)), EXIT_FAILURE;
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace filigree::internal

int main(int count, char** arguments) {
  using filigree::internal::Mistake;
  const std::string mistake = count == 2 ? arguments[1] : "";
  if (mistake == "none") return filigree::internal::run<Mistake::none>();
  if (mistake == "after-staging") return filigree::internal::run<Mistake::after_staging>();
  if (mistake == "before-restaging") return filigree::internal::run<Mistake::before_restaging>();
  if (mistake == "out-of-bounds") return filigree::internal::run<Mistake::out_of_bounds>();
  std::puts("which mistake?");
  return EXIT_SUCCESS;  // the tests want a failure
}
