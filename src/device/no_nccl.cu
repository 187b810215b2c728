// SPDX-License-Identifier: Apache-2.0
// Where NCCL is not installed, in the place of nccl.cu.
#include "device/all_reduce.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

struct AllReduce::Impl {};

AllReduce::AllReduce(std::span<const int> devices) {
  if (devices.size() > 1)
    throw Error(
        "training on several GPUs needs NCCL, and this program was built without: install it and build again",
        "gpus");
}
AllReduce::AllReduce(AllReduce&&) noexcept = default;
AllReduce::~AllReduce() = default;

void AllReduce::add(std::span<float* const>, std::size_t, std::span<const cudaStream_t>) {}

}  // namespace filigree::internal
