// filigree-cuda.so.
#include "base/plugin.h"
#include "device/device.h"

FILIGREE_PLUGIN(filigree::cuda_backend())
