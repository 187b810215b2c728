// Memory of a device, owned; and errors of CUDA as exceptions.
#pragma once

#include <span>
#include <string>
#include <utility>

#include "device/cuda.h"
#include "filigree/vocabulary.h"

namespace filigree {

// Throws Error that says what was tried. (fmt 9, which makes messages elsewhere, is more than nvcc 13
// compiles.)
inline void check_cuda(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw Error(std::string("CUDA: ") + what + " failed: " + cudaGetErrorString(error));
}

// `size` elements on the device, whose values are anything at first. Copies are as late as their stream is.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  explicit DeviceArray(std::size_t size) : size_(size) {
    if (size == 0) return;
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, size * sizeof(T)), "allocating memory");
    data_ = static_cast<T*>(memory);
  }
  DeviceArray(DeviceArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceArray() { cudaFree(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }

  void copy_from(std::span<const T> host, cudaStream_t stream) {
    check_size(host.size());
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice, stream),
               "copying to the device");
  }
  void copy_to(std::span<T> host, cudaStream_t stream) const {
    check_size(host.size());
    if (host.empty()) return;
    check_cuda(cudaMemcpyAsync(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost, stream),
               "copying from the device");
  }
  void set_zero(cudaStream_t stream) {
    if (size_ > 0) check_cuda(cudaMemsetAsync(data_, 0, size_ * sizeof(T), stream), "clearing memory");
  }

 private:
  void check_size(std::size_t copied) const {
    if (copied > size_)
      throw Error("CUDA: a copy of " + std::to_string(copied) + " elements, but the array has " +
                  std::to_string(size_));
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace filigree
