// SPDX-License-Identifier: Apache-2.0
// What we use of NCCL, emulated: in the place of NCCL's own header where the host's compiler compiles. Sums
// are made at the end of a group, when every stream of it has been waited for.
#pragma once

#include <cstddef>
#include <vector>

#include "device/cuda.h"

// NOLINTBEGIN: these are NCCL's names.
enum ncclResult_t { ncclSuccess = 0, ncclInvalidArgument = 4 };
enum ncclDataType_t { ncclFloat = 7 };
enum ncclRedOp_t { ncclSum = 0 };
struct ncclComm {
  int device = 0;
};
using ncclComm_t = ncclComm*;

namespace filigree::internal::emulated {
struct Reduction {
  const void* from;
  void* to;
  std::size_t count;
  cudaStream_t stream;
};
inline std::vector<Reduction> reductions;
}  // namespace filigree::internal::emulated

inline const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "invalid argument";
}
inline ncclResult_t ncclCommInitAll(ncclComm_t* communicators, int count, const int* devices) {
  for (int d = 0; d < count; ++d) communicators[d] = new ncclComm{devices[d]};
  return ncclSuccess;
}
inline ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  delete communicator;
  return ncclSuccess;
}
inline ncclResult_t ncclGroupStart() {
  filigree::internal::emulated::reductions.clear();
  return ncclSuccess;
}
inline ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t, ncclRedOp_t,
                                  ncclComm_t, cudaStream_t stream) {
  filigree::internal::emulated::reductions.push_back({from, to, count, stream});
  return ncclSuccess;
}
inline ncclResult_t ncclGroupEnd() {
  using filigree::internal::emulated::reductions;
  for (const auto& r : reductions) {
    if (r.count != reductions.front().count) return ncclInvalidArgument;
    cudaStreamSynchronize(r.stream);
  }
  std::vector<float> sum(reductions.empty() ? 0 : reductions.front().count, 0.0f);
  for (const auto& r : reductions)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<const float*>(r.from)[i];
  for (const auto& r : reductions)
    for (std::size_t i = 0; i < sum.size(); ++i) static_cast<float*>(r.to)[i] = sum[i];
  return ncclSuccess;
}
// NOLINTEND
