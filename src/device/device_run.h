// Rows through the layers of a network on a device: one launch a layer over all rows, the next layer's
// connections on their way meanwhile.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sparse/csr.h"

namespace filigree {

// A layer in the host's memory: y = min(max(W x + bias, 0), cap).
struct HostLayer {
  CsrView weights;  // at most 65,536 inputs
  std::span<const float> bias;
  float cap = 0;
};

// Entries of rows that are not zero; without values they are ones.
struct SparseInputs {
  std::span<const Offset> row_begin;  // rows + 1
  std::span<const std::uint16_t> column;
  std::span<const float> value;
};

struct DeviceRunOptions {
  unsigned threads = 128;  // of a block: 32 or 128
  // A row of zeros stays one in every layer: rows that died are left behind every so many layers; 0: never.
  unsigned compact_every = 0;
};

// Bytes of device memory that a run of so many rows takes besides the layers themselves.
std::size_t device_run_bytes(std::size_t widest, std::size_t rows, const DeviceRunOptions& options);

class DeviceRun {
 public:
  // No layer has more than `widest` inputs or outputs.
  DeviceRun(const SparseInputs& inputs, std::size_t features, std::size_t widest,
            const DeviceRunOptions& options);
  DeviceRun(DeviceRun&&) noexcept;
  DeviceRun& operator=(DeviceRun&&) noexcept;
  ~DeviceRun();

  // The layers in their order. What a layer borrows may go as soon as this returns; the device works on.
  void run(const HostLayer& layer);

  // Waits. The rows of which some output of the last layer is above zero, ascending.
  std::vector<unsigned> live_rows();
  // Waits. Outputs of the last layer, rows × outputs; zeros for rows that were left behind.
  std::vector<float> outputs();
  unsigned rows_left() const;  // not left behind

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace filigree
