// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "api/device_choice.h"
#include "base/error.h"
#include "base/plugin.h"
#include "filigree/runtime.h"

namespace filigree {

namespace {

std::vector<int>& chosen() {
  static std::vector<int> devices;
  return devices;
}

std::vector<DeviceFacts> facts() {
  if (cuda_backend() == nullptr)
    fail(
        "the CUDA device is not part of this installation (filigree-cuda.so, searched for in {}): install "
        "the "
        "CUDA toolkit (nvcc) and build it (cmake --build BUILD --target filigree_cuda_plugin), or use "
        "--device cpu",
        plugin_places());
  try {
    return cuda_backend()->devices();
  } catch (const Error& error) {
    fail("{}, or use --device cpu", error.what());
  }
}

std::vector<int> first_devices(int count) {
  const auto there = static_cast<int>(facts().size());
  if (count > there) fail("{} GPUs are asked for, but there are {}", count, there);
  std::vector<int> devices(static_cast<std::size_t>(count == 0 ? there : count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

}  // namespace

std::vector<DeviceInfo> cuda_devices() {
  std::vector<DeviceInfo> all;
  for (const DeviceFacts& d : facts())
    all.push_back({d.name, d.memory, d.free_memory, d.processors, fmt::format("{}.{}", d.major, d.minor)});
  return all;
}

std::string set_device(Device device, int count) {
  chosen().clear();
  if (device == Device::cpu) return "";
  try {
    chosen() = first_devices(count);
  } catch (const Error& error) {
    if (device == Device::cuda) throw;
    return error.what();
  }
  return "";
}

std::string device_name() {
  return chosen().empty() ? "cpu" : DeviceExecutor(*cuda_backend(), chosen()).describe();
}

std::span<const int> chosen_devices() {
  return chosen();
}

std::unique_ptr<DeviceExecutor> device_executor(const DeviceRunOptions& options) {
  return chosen().empty() ? nullptr : std::make_unique<DeviceExecutor>(*cuda_backend(), chosen(), options);
}

}  // namespace filigree
