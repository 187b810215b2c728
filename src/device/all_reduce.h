// SPDX-License-Identifier: Apache-2.0
// Sums over devices.
#pragma once

#include <memory>
#include <span>

#include "device/cuda.h"

namespace filigree::internal {

class AllReduce {
 public:
  // Throws Error if there are several devices and this program was built without NCCL.
  explicit AllReduce(std::span<const int> devices);
  AllReduce(AllReduce&&) noexcept;
  ~AllReduce();

  // data[d], `count` numbers on device d, becomes the sum of all of them, when streams[d] gets there.
  void add(std::span<float* const> data, std::size_t count, std::span<const cudaStream_t> streams);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace filigree::internal
