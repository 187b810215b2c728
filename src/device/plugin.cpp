// SPDX-License-Identifier: Apache-2.0
// The CUDA device as a plug-in, in the place of backend.cu: see cuda_plugin.cu.
#include "base/plugin.h"
#include "device/device.h"

namespace filigree::internal {

const DeviceBackend* cuda_backend() {
  return static_cast<const DeviceBackend*>(load_plugin("cuda"));
}

}  // namespace filigree::internal
