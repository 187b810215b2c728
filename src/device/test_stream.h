// SPDX-License-Identifier: Apache-2.0
// For tests of device code: a stream, and vectors to the device and back.
#pragma once

#include <vector>

#include "device/device_memory.h"

namespace filigree::internal {

struct TestStream {
  TestStream() { cudaStreamCreate(&stream); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() { cudaStreamDestroy(stream); }
  cudaStream_t stream = nullptr;
};

template <typename T>
DeviceArray<T> on_device(const std::vector<T>& host, cudaStream_t stream) {
  DeviceArray<T> array(host.size());
  array.copy_from(host, stream);
  cudaStreamSynchronize(stream);  // `host` may be gone before the stream is
  return array;
}

template <typename T>
std::vector<T> on_host(const DeviceArray<T>& array, cudaStream_t stream) {
  std::vector<T> host(array.size());
  array.copy_to(host, stream);
  cudaStreamSynchronize(stream);
  return host;
}

}  // namespace filigree::internal
