// SPDX-License-Identifier: Apache-2.0
// Layers on their way from the host to a device: while one is computed with, the next is copied.
#pragma once

#include "device/device.h"
#include "device/device_memory.h"

namespace filigree::internal {

// How the connections of a layer are to arrive.
enum class FeedForm {
  narrow,       // rows are outputs, columns in 16 bits, one common weight not stored
  wide,         // the same with columns in 32 bits and every weight: what cuSPARSE takes
  wide_inputs,  // and rows are inputs
};

class LayerFeed {
 public:
  // A layer with more connections than the shape has takes more memory when it comes.
  LayerFeed(const RunShape& shape, FeedForm form);

  struct Arrived {
    const unsigned* begin = nullptr;
    const std::uint16_t* column = nullptr;  // narrow
    const int* wide_column = nullptr;       // wide
    const float* value = nullptr;           // null: all the same
    const float* bias = nullptr;
    unsigned connections = 0;
  };
  // The layer as it will be on the device when `compute` gets there. Returns once what it borrowed is copied.
  Arrived send(const HostLayer& layer, cudaStream_t compute);
  // What has been given to `compute` so far is the last use of the layer that was sent last.
  void used(cudaStream_t compute);

  static std::uint64_t bytes(const RunShape& shape, FeedForm form);

 private:
  template <typename T>
  struct Staged {
    PinnedArray<T> host;
    DeviceArray<T> device;
    explicit Staged(std::size_t size) : host(size), device(size) {}
    void grow(std::size_t size) {
      if (size > host.size()) *this = Staged(size);
    }
    void send(std::size_t size, cudaStream_t stream) {
      device.copy_from(std::span<const T>(host.data(), size), stream);
    }
  };
  // A layer's place. Two take turns.
  struct Slot {
    Staged<unsigned> begin;
    Staged<std::uint16_t> column;
    Staged<int> wide_column;
    Staged<float> value, bias;
    CudaEvent sent, used;
    Slot(const RunShape& shape, FeedForm form);
  };
  void transpose(const HostLayer& layer, Slot& slot);

  RunShape shape_;
  FeedForm form_;
  Slot slots_[2];
  CudaStream copy_;
  unsigned sent_ = 0;
};

}  // namespace filigree::internal
