// SPDX-License-Identifier: Apache-2.0
// The meaning of the activation functions.
#include <algorithm>
#include <cmath>

#include "kernels/activation.h"

namespace filigree {

double activation_reference(Activation activation, double slope, double cap, double z) {
  switch (activation) {
    case Activation::identity:
      return z;
    case Activation::relu:
      return std::min(std::max(z, 0.0), cap);  // in this order a NaN stays one
    case Activation::leaky_relu:
      return z < 0 ? z * slope : z;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
  }
  return z;
}

}  // namespace filigree
