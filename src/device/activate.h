// SPDX-License-Identifier: Apache-2.0
// Activations in device code.
#pragma once

#include <cmath>

#include "device/cuda.h"
#include "filigree/vocabulary.h"

namespace filigree {

__device__ __forceinline__ float device_activation(Activation activation, float cap, float slope, float z) {
  switch (activation) {
    case Activation::relu:
      z = z > 0 ? z : 0.0f;
      return z < cap ? z : cap;
    case Activation::leaky_relu:
      return z > 0 ? z : slope * z;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::identity:
      break;
  }
  return z;
}

}  // namespace filigree
