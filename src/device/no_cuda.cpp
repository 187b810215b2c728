// Where nvcc is not there to build the device, in the place of backend.cu.
#include "device/device.h"

namespace filigree {

const DeviceBackend* cuda_backend() {
  return nullptr;
}

}  // namespace filigree
