// SPDX-License-Identifier: Apache-2.0
// Sessions on devices.
#include "base/session.h"

#include <numeric>

#include "base/error.h"
#include "base/plugin.h"
#include "device/device.h"

namespace filigree {

using namespace internal;

namespace {

std::vector<DeviceFacts> facts() {
  if (cuda_backend() == nullptr)
    fail_for(
        "device",
        "the CUDA device is not part of this installation (filigree-cuda.so, searched for in {}): install "
        "the CUDA toolkit (nvcc) and build it (cmake --build BUILD --target filigree_cuda_plugin)",
        plugin_places());
  try {
    return cuda_backend()->devices();
  } catch (const Error& error) {
    throw Error(error.what(), "device");
  }
}

std::vector<int> first_devices(int count) {
  const auto there = static_cast<int>(facts().size());
  if (count > there) fail_for("gpus", "{} GPUs are asked for, but there are {}", count, there);
  std::vector<int> devices(count == 0 ? there : count);
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

}  // namespace

Session::Session(const SessionOptions& options) {
  if (options.gpus < 0)
    throw std::invalid_argument(fmt::format("{} GPUs, but there can be 0 (all) or more", options.gpus));
  auto state = std::make_shared<State>(options.threads);
  if (options.device != Device::cpu) {
    try {
      state->devices = first_devices(options.gpus);
    } catch (const Error& error) {
      if (options.device == Device::cuda) throw;
      state->remark = error.what();
    }
  }
  state_ = std::move(state);
}

std::string Session::device_name() const {
  const std::vector<int>& devices = state_->devices;
  if (devices.empty()) return "cpu";
  const std::string name = facts()[devices.front()].name;
  return devices.size() == 1 ? name : fmt::format("{} × {}", devices.size(), name);
}

std::vector<DeviceInfo> cuda_devices() {
  std::vector<DeviceInfo> all;
  for (const DeviceFacts& d : facts())
    all.push_back({d.name, d.memory, d.free_memory, d.processors, fmt::format("{}.{}", d.major, d.minor)});
  return all;
}

}  // namespace filigree
