// SPDX-License-Identifier: Apache-2.0
// A layer in training and the rows of a data set, in the memory of a device.
#pragma once

#include <cstring>
#include <vector>

#include "device/device_memory.h"
#include "device/device_training.h"
#include "device/train_kernels.h"

namespace filigree::internal {

// Arrays on their way to the device, one after the other in memory that it copies from without a detour.
class Staging {
 public:
  // After this, add() what takes `bytes` in all.
  void begin(std::size_t bytes) {
    if (sent_) arrived_.wait();
    memory_.make_room(bytes);
    used_ = 0;
  }
  template <typename T>
  void add(std::span<const T> from, DeviceArray<T>& to, cudaStream_t stream) {
    to.make_room(from.size());
    if (from.empty()) return;
    std::byte* at = memory_.data() + used_;
    std::memcpy(at, from.data(), from.size_bytes());
    check_cuda(cudaMemcpyAsync(to.data(), at, from.size_bytes(), cudaMemcpyHostToDevice, stream),
               "copying to the device");
    used_ += from.size_bytes();
  }
  void end(cudaStream_t stream) {
    arrived_.record(stream);
    sent_ = true;
  }
  void hold(cudaStream_t stream) {
    if (sent_) arrived_.hold(stream);
  }

 private:
  PinnedArray<std::byte> memory_;
  std::size_t used_ = 0;
  bool sent_ = false;
  CudaEvent arrived_;
};

// Connections in one order.
struct Side {
  DeviceArray<unsigned> begin;
  DeviceArray<std::uint16_t> column;
  DeviceArray<float> value;
  unsigned rows = 0;
  DevicePattern pattern() const { return {begin.data(), column.data(), rows}; }
};

// A layer on a device: connections as the host has them, and in the other order where a pass needs that.
struct LayerHere {
  unsigned inputs = 0, outputs = 0, connections = 0;
  ActivationFunction activation = {};
  bool by_input = false, both = false;
  Side own, other;
  DeviceArray<unsigned> order;  // of each connection of `other`, its place in `own`
  DeviceArray<float> gradient, first, second, bias, bias_gradient, bias_first, bias_second;
  Staging staging;

  const Side& by_output() const { return by_input ? other : own; }
  const Side& by_inputs() const { return by_input ? own : other; }
};

// The other order of a layer's connections.
struct Transposed {
  std::vector<unsigned> begin, order;
  std::vector<std::uint16_t> column;

  explicit Transposed(const TrainingLayer& layer) {
    const unsigned rows = layer.by_input ? layer.outputs : layer.inputs;
    begin.assign(rows + std::size_t{1}, 0);
    for (const std::uint16_t c : layer.column) ++begin[c + std::size_t{1}];
    for (std::size_t r = 0; r < rows; ++r) begin[r + 1] += begin[r];
    order.resize(layer.column.size());
    column.resize(layer.column.size());
    std::vector<unsigned> next(begin.begin(), begin.end() - 1);
    for (std::size_t r = 0; r + 1 < layer.row_begin.size(); ++r)
      for (unsigned e = layer.row_begin[r]; e < layer.row_begin[r + 1]; ++e) {
        const unsigned to = next[layer.column[e]]++;
        column[to] = static_cast<std::uint16_t>(r);
        order[to] = e;
      }
  }
};

struct RowsHere {
  DeviceArray<std::uint8_t> bytes;
  DeviceArray<float> floats, value, mean, scale;
  DeviceArray<long long> row_begin;
  DeviceArray<int> column;
  unsigned mean_step = 0, scale_step = 0;
  DeviceRows view() const {
    return {bytes.data(), floats.data(), row_begin.data(), column.data(), value.data(),
            mean.data(),  scale.data(),  mean_step,        scale_step};
  }
};

}  // namespace filigree::internal
