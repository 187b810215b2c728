// SPDX-License-Identifier: Apache-2.0
// Memory of a device, owned; and errors of CUDA as exceptions.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

// Throws Error that says what was tried. (fmt 9, which makes messages elsewhere, is more than nvcc 13
// compiles.)
inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw Error(std::string("CUDA: ") + what + " failed: " + cudaGetErrorString(error));
}

// Memory that CUDA gives, whose values are anything at first.
template <typename T, cudaError_t (*kAllocate)(void**, std::size_t), cudaError_t (*kFree)(void*)>
class CudaArray {
 public:
  CudaArray() = default;
  explicit CudaArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    if (const cudaError_t error = kAllocate(&memory, size * sizeof(T)); error != cudaSuccess) {
      cudaGetLastError();  // it would be told again by the next call that asks
      std::size_t free = 0, total = 0;
      cudaMemGetInfo(&free, &total);
      throw Error("CUDA: allocating " + std::to_string(size * sizeof(T)) +
                      " bytes failed: " + cudaGetErrorString(error) + "; the device has " +
                      std::to_string(free) + " of " + std::to_string(total) + " free",
                  "device");
    }
    data_ = static_cast<T*>(memory);
  }
  CudaArray(CudaArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  CudaArray& operator=(CudaArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CudaArray() {
    if (data_ != nullptr) kFree(data_);
  }

  // At least so many; what was there is gone if they are more than before.
  void make_room(std::size_t size) {
    if (size > size_) *this = CudaArray(size);
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

// A stream of the device that is current, and an event; both owned.
class CudaStream {
 public:
  CudaStream() { check_cuda(cudaStreamCreate(&stream_), "making a stream"); }
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { cudaStreamDestroy(stream_); }
  operator cudaStream_t() const { return stream_; }
  void wait(const char* what) const { check_cuda(cudaStreamSynchronize(stream_), what); }

 private:
  cudaStream_t stream_ = nullptr;
};
class CudaEvent {
 public:
  CudaEvent() { check_cuda(cudaEventCreate(&event_), "making an event"); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { cudaEventDestroy(event_); }
  void record(cudaStream_t stream) { check_cuda(cudaEventRecord(event_, stream), "recording an event"); }
  void wait() { check_cuda(cudaEventSynchronize(event_), "waiting for an event"); }
  // What comes next in `stream` waits.
  void hold(cudaStream_t stream) {
    check_cuda(cudaStreamWaitEvent(stream, event_, 0), "waiting for an event");
  }

 private:
  cudaEvent_t event_ = nullptr;
};

inline cudaError_t allocate_on_device(void** memory, std::size_t bytes) {
  return cudaMalloc(memory, bytes);
}
inline cudaError_t allocate_pinned(void** memory, std::size_t bytes) {
  return cudaMallocHost(memory, bytes);
}

// Memory of the host that a device copies from without a detour.
template <typename T>
using PinnedArray = CudaArray<T, allocate_pinned, cudaFreeHost>;

// Memory of the device. Copies are as late as their stream is.
template <typename T>
class DeviceArray : public CudaArray<T, allocate_on_device, cudaFree> {
 public:
  using CudaArray<T, allocate_on_device, cudaFree>::CudaArray;

  void copy_from(std::span<const T> host, cudaStream_t stream) {
    check_size(host.size());
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(this->data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream),
               "copying to the device");
  }
  void copy_to(std::span<T> host, cudaStream_t stream) const {
    check_size(host.size());
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(host.data(), this->data(), host.size_bytes(), cudaMemcpyDeviceToHost, stream),
               "copying from the device");
  }
  // Waits.
  std::vector<T> values(std::size_t count, cudaStream_t stream, const char* what) const {
    std::vector<T> host(count);
    copy_to(host, stream);
    check_cuda(cudaStreamSynchronize(stream), what);
    return host;
  }
  void set_zero(cudaStream_t stream) {
    if (this->size() > 0)
      check_cuda(cudaMemsetAsync(this->data(), 0, this->size() * sizeof(T), stream), "clearing memory");
  }

 private:
  void check_size(std::size_t copied) const {
    if (copied > this->size())
      throw Error("CUDA: a copy of " + std::to_string(copied) + " elements, but the array has " +
                  std::to_string(this->size()));
  }
};

}  // namespace filigree::internal
