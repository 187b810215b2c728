// SPDX-License-Identifier: Apache-2.0
// What the loss compares the outputs with: classes, labels, values in units of their own spread; and how much
// each row counts.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "network/layer.h"
#include "train/layer.h"

namespace filigree::internal {

struct Targets {
  InputScaling scaling = {};       // of values, to mean 0 and variance 1 over the training rows
  std::vector<float> weight = {};  // of each row of the training part, 1 in the mean; empty: 1
};

// Follows from the data and the rows trained on. Throws Error if the weights cannot be had from them.
Targets targets_of(const Dataset& data, const LearningOptions& options, std::span<const Index> train_rows);

// The targets of some rows, neuron-major with `stride` rows a neuron, scaled; of two classes by one output: 1
// for the second class.
void load_targets(const DataRows& data, const InputScaling& scaling, std::span<const Index> rows,
                  std::size_t stride, std::vector<float>& to);

// The variance of scaled targets over some rows, the mean over the values.
double spread_of(const DataRows& data, const InputScaling& scaling, std::span<const Index> rows);

// The last layers of a network in training give scaled values. This takes one to the values' own units, and
// back: weights and biases change, so that nothing is left to be done to the outputs.
void to_own_units(Layer& layer, const InputScaling& scaling);
void to_scaled_units(TrainLayer& layer, const InputScaling& scaling);

}  // namespace filigree::internal
