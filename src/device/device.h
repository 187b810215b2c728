// SPDX-License-Identifier: Apache-2.0
// What the modules above ask of a device, without a word of CUDA: rows through the layers of a network.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/device_training.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

struct DeviceFacts {
  std::string name;
  std::uint64_t memory = 0, free_memory = 0;  // bytes
  int processors = 0;
  int major = 0, minor = 0;  // compute capability
};

// A layer in the host's memory: y = activation(scale · (W x) + bias).
struct HostLayer {
  std::span<const std::uint32_t> row_begin;  // outputs + 1
  std::span<const std::uint16_t> column;     // of inputs; sums keep this order
  std::span<const float> value;              // empty: every weight is `uniform`
  std::span<const float> bias;
  unsigned inputs = 0;
  float uniform = 0;
  float scale = 1;
  ActivationFunction activation = {};

  unsigned outputs() const { return bias.size(); }
};

// Entries of rows that are not zero; without values they are ones. Row r of a run is row `row[r]` of these.
// Column c is added to input input_of[c], unless that is below zero; without input_of, to input c.
struct SparseInputs {
  std::span<const Offset> row_begin;
  std::span<const std::uint16_t> column;
  std::span<const float> value;
  std::span<const Index> row, input_of;
};

struct DeviceRunOptions {
  DeviceKernel kernel = DeviceKernel::fused;
  unsigned threads = 0;  // of a block: 32 or 128; 0: what suits the device
  // A row of zeros stays one in every layer: rows that died are left behind every so many layers; 0: never.
  unsigned compact_every = 0;
};

// What a run is to have room for.
struct RunShape {
  unsigned rows = 0;         // of inputs
  unsigned widest = 0;       // inputs or outputs of a layer
  unsigned connections = 0;  // of a layer
};

// Rows on a device, on their way through the layers of a network.
class DeviceRun {
 public:
  virtual ~DeviceRun() = default;

  // The next layer. What it borrows may go as soon as this returns; the device works on.
  virtual void run(const HostLayer& layer) = 0;
  virtual unsigned rows() const = 0;  // that were computed in the last layer

  // Waits. One of each set of equal rows goes on; absorbed[i] stands for by[i] from here on. Rows are counted
  // from 0, in the order in which they were given.
  struct Absorbed {
    std::vector<unsigned> row, by;
  };
  virtual Absorbed merge_equal_rows() = 0;

  // Waits. How many rows had an output other than zero after each layer, those absorbed before included.
  virtual std::vector<unsigned> live_counts() = 0;
  // Waits. The rows of which some output of the last layer is not zero, ascending; those absorbed are not
  // among them.
  virtual std::vector<unsigned> live_rows() = 0;
  // Waits. Outputs of the last layer, rows × outputs; zeros for rows that were left behind.
  virtual std::vector<float> outputs() = 0;
};

class DeviceBackend {
 public:
  virtual ~DeviceBackend() = default;
  // Throws Error that says why there are none.
  virtual std::vector<DeviceFacts> devices() const = 0;
  // Bytes of device memory that a run takes.
  virtual std::uint64_t run_bytes(const RunShape& shape, const DeviceRunOptions& options) const = 0;
  virtual std::unique_ptr<DeviceRun> start(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           const SparseInputs& inputs) const = 0;
  // `columns` holds inputs × rows values, neuron-major.
  virtual std::unique_ptr<DeviceRun> start(int device, const RunShape& shape, const DeviceRunOptions& options,
                                           std::span<const float> columns) const = 0;
  virtual std::unique_ptr<DeviceTraining> start_training(std::span<const int> devices,
                                                         const TrainingShape& shape) const = 0;
};

// Null if this program was built without CUDA.
const DeviceBackend* cuda_backend();

}  // namespace filigree::internal
