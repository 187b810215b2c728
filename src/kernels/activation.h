// SPDX-License-Identifier: Apache-2.0
// Activation functions on a panel, for those that the SpMM epilogue does not do on the way.
#pragma once

#include <span>

#include "filigree/vocabulary.h"

namespace filigree {

// x = activation(x), element by element; relu without a cap (the epilogue of spmm_panel has one). NaN stays
// NaN, infinities go where the function's limits are. sigmoid and tanh are within 1e-6 of the reference,
// relative, where the result is a normal float.
void apply_activation(Activation activation, float slope, std::span<float> x);

// The meaning of one activation: `slope` is leaky_relu's, `cap` relu's.
double activation_reference(Activation activation, double slope, double cap, double z);

}  // namespace filigree
