// SPDX-License-Identifier: Apache-2.0
// filigree-cuda.so.
#include "base/plugin.h"
#include "device/device.h"

FILIGREE_PLUGIN(filigree::internal::cuda_backend())
