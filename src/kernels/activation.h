// SPDX-License-Identifier: Apache-2.0
// Activation functions on a panel, for those that the SpMM epilogue does not do on the way.
#pragma once

#include <span>

#include "filigree/activation.h"

namespace filigree::internal {

// x = activation(x), element by element. NaN stays NaN, infinities go where the function's limits are. Curves
// are within 1e-6 of the reference, relative, where the result is a normal float.
void apply_activation(const ActivationFunction& activation, std::span<float> x);

// delta = delta · activation'(z), where y = activation(z); z is looked at where the result does not tell,
// else may be empty. relu has no cap here.
void multiply_by_derivative(const ActivationFunction& activation, std::span<const float> y,
                            std::span<const float> z, std::span<float> delta);

}  // namespace filigree::internal
