// SPDX-License-Identifier: Apache-2.0
// The network before the first step: how many connections each layer gets, where they are, what they weigh.
#pragma once

#include <vector>

#include "train/layer.h"

namespace filigree::internal {

// Connections of each weight matrix; they add up to the share of all weights that 1 - sparsity asks for.
std::vector<Offset> connections_per_layer(const TrainOptions& options);

// One of the layers of a network in training, before anything is drawn.
struct LayerShape {
  LayerRole role = LayerRole::chain;
  std::size_t level = 0;
  Index inputs = 0, outputs = 0;
  Offset connections = 0;
};

// Throws Error if exits or mixtures name hidden layers that are not there, or not each once in their order.
void check_branches(const TrainOptions& options);

// Chain layers and experts from the inputs to the outputs, then gates, then exits. Each expert has the
// connections that the layer would have.
std::vector<LayerShape> layout(const TrainOptions& options);

// `sparse_inputs`: the data set's rows are sparse, so the first layer is stored by input.
std::vector<TrainLayer> make_layers(const TrainOptions& options, bool sparse_inputs, std::size_t slices);

// The layer before the first step, drawn as number `l` of a network.
TrainLayer make_layer(const TrainOptions& options, const LayerShape& shape, std::size_t l,
                      bool sparse_inputs);

// Weights by chance, as options.init and options.seed say, for the connections of layer `l` of a network.
void draw_values(const TrainOptions& options, TrainLayer& layer, std::size_t l);

}  // namespace filigree::internal
