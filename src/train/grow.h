// SPDX-License-Identifier: Apache-2.0
// Growth of whole networks: neurons split in two, layers put in between, without a change of what is
// computed.
#pragma once

#include "network/network.h"
#include "train/training.h"

namespace filigree::internal {

// Hidden layer `l` (counted from 0) with one more neuron for each of `split` (which may repeat): a copy that
// reads what the split one reads; each consumer's weight is divided between the two, 30 to 70 % to one. The
// function stays the same up to rounding (Net2Net's widening, for sparse layers).
std::vector<Layer> widened(std::vector<Layer> layers, std::size_t l, const std::vector<Index>& split,
                           Random& random);

// A new layer behind hidden layer `l` that passes every neuron on. Throws Error unless that layer's
// activation is relu, which changes nothing when it comes twice (Net2Net's deepening).
std::vector<Layer> deepened(std::vector<Layer> layers, std::size_t l);

// Per hidden layer and neuron: the squares of the gradients of its connections, both ways, over
// options.growth_batches batches.
std::vector<std::vector<double>> neuron_gradients(const Network& network, const Dataset& data,
                                                  const TrainOptions& options);

// As many neurons as `growth` says are split in every hidden layer, those with the largest gradients first,
// as long as there are no more than `most` connections.
std::vector<Layer> with_more_neurons(std::vector<Layer> layers,
                                     const std::vector<std::vector<double>>& gradients, double growth,
                                     Offset most, Random& random);

}  // namespace filigree::internal
