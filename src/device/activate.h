// SPDX-License-Identifier: Apache-2.0
// Activations in device code.
#pragma once

#include <cmath>

#include "device/cuda.h"
#include "filigree/activation.h"

namespace filigree::internal {

__device__ __forceinline__ float device_activation(const ActivationFunction& function, float z) {
  switch (function.kind) {
    case Activation::relu:
      z = z > 0 ? z : 0.0f;
      return z < function.cap ? z : function.cap;
    case Activation::leaky_relu:
      return z > 0 ? z : function.slope * z;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::softplus:
      return (z > 0 ? z : 0.0f) + std::log1p(std::exp(z > 0 ? -z : z));
    case Activation::identity:
      return z;
  }
  return z;
}

// The derivative where the function gave y, at the sum z, which is looked at only if the result does not
// tell.
__device__ __forceinline__ float device_derivative(const ActivationFunction& function, float y, float z) {
  switch (function.kind) {
    case Activation::relu:
      return y > 0 ? 1.0f : 0.0f;
    case Activation::leaky_relu:
      return z > 0 ? 1.0f : function.slope;
    case Activation::sigmoid:
      return y * (1 - y);
    case Activation::tanh:
      return 1 - y * y;
    case Activation::softplus:
      return -std::expm1(-y);
    case Activation::identity:
      return 1;
  }
  return 1;
}

}  // namespace filigree::internal
