// SPDX-License-Identifier: Apache-2.0
// Sums over devices by NCCL.
#include <nccl.h>

#include <vector>

#include "device/all_reduce.h"
#include "device/device_memory.h"

namespace filigree::internal {

namespace {

void check_nccl(ncclResult_t result, const char* what) {
  if (result != ncclSuccess)
    throw Error(std::string("NCCL: ") + what + " failed: " + ncclGetErrorString(result));
}

}  // namespace

struct AllReduce::Impl {
  std::vector<ncclComm_t> communicators;
};

AllReduce::AllReduce(std::span<const int> devices) : impl_(std::make_unique<Impl>()) {
  if (devices.size() < 2) return;
  impl_->communicators.resize(devices.size());
  check_nccl(ncclCommInitAll(impl_->communicators.data(), devices.size(), devices.data()),
             "connecting the devices");
}
AllReduce::AllReduce(AllReduce&&) noexcept = default;
AllReduce::~AllReduce() {
  if (impl_ == nullptr) return;
  for (const ncclComm_t communicator : impl_->communicators) ncclCommDestroy(communicator);
}

void AllReduce::add(std::span<float* const> data, std::size_t count, std::span<const cudaStream_t> streams) {
  if (data.size() < 2 || count == 0) return;
  check_nccl(ncclGroupStart(), "beginning a sum");
  for (std::size_t d = 0; d < data.size(); ++d)
    check_nccl(
        ncclAllReduce(data[d], data[d], count, ncclFloat, ncclSum, impl_->communicators[d], streams[d]),
        "adding gradients up");
  check_nccl(ncclGroupEnd(), "ending a sum");
}

}  // namespace filigree::internal
