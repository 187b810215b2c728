// SPDX-License-Identifier: Apache-2.0
// The double-precision meaning of running a network: one row at a time in definition, a few at a time in
// fact.
#pragma once

#include <span>
#include <vector>

#include "network/layer_source.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// The given rows (ascending) that end non-zero, ascending. Weights and biases are the network's floats; sums
// are double, in the order of the columns. `scale` multiplies every sum before its bias.
std::vector<Index> reference_categories(const LayerSource& network, const InputRows& inputs,
                                        std::span<const Index> rows, const Observer& observer,
                                        double scale = 1);

// What an engine that computes in float may answer. In a monotone network no weight is negative and zeros
// stay zeros: relu rises, and the other activations are given sums from 0 on, where they rise too. There sums
// scaled down by the rounding of a float sum give the rows that every order of summation keeps alive, scaled
// up those that some order may. For other networks both are what the reference finds.
struct ReferenceVerdict {
  std::vector<Index> alive;
  std::vector<Index> possibly_alive;
};
ReferenceVerdict reference_verdict(const LayerSource& network, const InputRows& inputs,
                                   std::span<const Index> rows, const Observer& observer);

// The outputs of the given rows, row-major.
std::vector<double> reference_outputs(const LayerSource& network, const InputRows& inputs,
                                      std::span<const Index> rows, const Observer& observer);

}  // namespace filigree::internal
