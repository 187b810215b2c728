// The double-precision meaning of running a network: one row at a time in definition, a few at a time in fact.
#pragma once

#include <span>
#include <vector>

#include "network/layer_source.h"
#include "sparse/input_rows.h"

namespace filigree {

// The given rows that end non-zero, ascending. Weights and biases are the network's floats; sums are double, in the
// order of the columns.
std::vector<Index> reference_categories(const LayerSource& network, const InputRows& inputs,
                                        std::span<const Index> rows, const Observer& observer);

// The outputs of the given rows, row-major.
std::vector<double> reference_outputs(const LayerSource& network, const InputRows& inputs, std::span<const Index> rows,
                                      const Observer& observer);

}  // namespace filigree
