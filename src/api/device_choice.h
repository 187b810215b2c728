// SPDX-License-Identifier: Apache-2.0
// The device that set_device() chose.
#pragma once

#include "infer/device_executor.h"

namespace filigree {

std::span<const int> chosen_devices();  // of cuda_backend(); empty: the CPU
// Null: the CPU.
std::unique_ptr<DeviceExecutor> device_executor(const DeviceRunOptions& options = {});

}  // namespace filigree
