// SPDX-License-Identifier: Apache-2.0
// The executor of a device: one layer over all rows at a time, dead rows left behind, equal rows once, the
// next layer on its way meanwhile.
#pragma once

#include <map>

#include "device/device.h"
#include "infer/dense_run.h"
#include "infer/executor.h"

namespace filigree::internal {

// A layer in the form that devices take, made once.
struct DeviceForm {
  std::vector<std::uint32_t> row_begin;
  std::vector<std::uint16_t> column;
  std::vector<float> value;
  std::shared_ptr<const PlanLayer> layer;  // the rest

  explicit DeviceForm(std::shared_ptr<const PlanLayer> from);
  HostLayer view(Bracket bracket) const;
};

// Takes rows through plans on the given devices, which share them out. What run() and run_dense() do on the
// CPU, with the same results: sums keep their order, so the bits are the CPU's where its products are fused
// with additions or the weights are one power of two.
class DeviceExecutor {
 public:
  DeviceExecutor(const DeviceBackend& backend, std::vector<int> devices, DeviceRunOptions options = {});

  // Makes the layers of a plan ready, if they are in memory: runs of it then begin at once. The plan outlives
  // this.
  void prepare(const PlanSource& plan);

  RunResult run(const PlanSource& plan, const InputRows& inputs, std::span<const Index> input_of,
                std::span<const Index> rows, const RunOptions& options, const Observer& observer);
  void run_dense(const PlanSource& plan, std::size_t rows, const MakeLoader& make_loader,
                 const OutputMap& map, std::span<float> outputs, const Observer& observer);

 private:
  std::shared_ptr<const DeviceForm> form(const PlanSource& plan, Index l);
  RunShape shape_of(const PlanSource& plan, Index layers);
  // Rows that fit on each device at once, if loading one takes so many bytes besides. Throws Error if not
  // even a block of them does.
  std::vector<unsigned> rows_that_fit(RunShape shape, const DeviceRunOptions& options,
                                      std::uint64_t input_bytes) const;

  const DeviceBackend& backend_;
  std::vector<int> devices_;
  DeviceRunOptions options_;
  std::map<const PlanSource*, std::vector<std::shared_ptr<const DeviceForm>>> prepared_;
};

// Of the calling thread's session; null: the CPU.
std::unique_ptr<DeviceExecutor> device_executor(const DeviceRunOptions& options = {});

}  // namespace filigree::internal
