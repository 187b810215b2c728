// SPDX-License-Identifier: Apache-2.0
// A network in training on one or several devices.
#pragma once

#include <memory>

#include "device/device_training.h"

namespace filigree::internal {

// Blocks of `threads` threads, 32 or 128; 0: what suits the device.
std::unique_ptr<DeviceTraining> start_cuda_training(std::span<const int> devices, const TrainingShape& shape,
                                                    unsigned threads = 0);

}  // namespace filigree::internal
