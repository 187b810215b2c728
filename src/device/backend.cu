// SPDX-License-Identifier: Apache-2.0
// The CUDA device as the rooms above see it.
#include "device/baseline_runs.h"
#include "device/device.h"
#include "device/device_memory.h"
#include "device/panel_run.h"
#include "device/training.h"

namespace filigree::internal {

namespace {

class CudaBackend final : public DeviceBackend {
 public:
  std::vector<DeviceFacts> devices() const override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver)
      throw Error("no CUDA driver, or one older than this program needs: install NVIDIA's driver");
    if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0))
      throw Error("the CUDA driver finds no GPU: see nvidia-smi");
    check_cuda(error, "counting GPUs");
    std::vector<DeviceFacts> all;
    for (int d = 0; d < count; ++d) {
      cudaDeviceProp properties{};
      check_cuda(cudaGetDeviceProperties(&properties, d), "asking a GPU what it is");
      check_cuda(cudaSetDevice(d), "choosing a device");
      std::size_t free = 0, total = 0;
      check_cuda(cudaMemGetInfo(&free, &total), "asking a GPU for its memory");
      all.push_back(
          {properties.name, total, free, properties.multiProcessorCount, properties.major, properties.minor});
    }
    return all;
  }

  std::uint64_t run_bytes(const RunShape& shape, const DeviceRunOptions& options) const override {
    switch (options.kernel) {
      case DeviceKernel::fused:
      case DeviceKernel::spmm:
        return panel_run_bytes(shape, options);
      case DeviceKernel::spgemm:
      case DeviceKernel::spgemm_kept:
        return spgemm_run_bytes(shape);
      case DeviceKernel::tiled:
        return tiled_run_bytes(shape);
    }
    return 0;
  }
  std::unique_ptr<DeviceRun> start(int device, const RunShape& shape, const DeviceRunOptions& options,
                                   const SparseInputs& inputs) const override {
    switch (options.kernel) {
      case DeviceKernel::fused:
      case DeviceKernel::spmm:
        return start_panel_run(device, shape, options, inputs);
      case DeviceKernel::spgemm:
      case DeviceKernel::spgemm_kept:
        return start_spgemm_run(device, shape, options, inputs);
      case DeviceKernel::tiled:
        return start_tiled_run(device, shape, options, inputs);
    }
    return nullptr;
  }
  std::unique_ptr<DeviceRun> start(int device, const RunShape& shape, const DeviceRunOptions& options,
                                   std::span<const float> columns) const override {
    return start_panel_run(device, shape, options, columns);
  }
  std::unique_ptr<DeviceTraining> start_training(std::span<const int> devices,
                                                 const TrainingShape& shape) const override {
    return start_cuda_training(devices, shape);
  }
};

}  // namespace

const DeviceBackend* cuda_backend() {
  static const CudaBackend backend;
  return &backend;
}

}  // namespace filigree::internal
