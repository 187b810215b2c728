// The network before the first step: how many connections each layer gets, where they are, what they weigh.
#pragma once

#include <vector>

#include "train/layer.h"

namespace filigree {

// Connections of each weight matrix; they add up to the share of all weights that 1 - sparsity asks for.
std::vector<Offset> connections_per_layer(const TrainOptions& options);

// `sparse_inputs`: the data set's rows are sparse, so the first layer is stored by input.
std::vector<TrainLayer> make_layers(const TrainOptions& options, bool sparse_inputs, std::size_t slices);

// Weights by chance, as options.init and options.seed say, for the connections of layer `l` of a network.
void draw_values(const TrainOptions& options, TrainLayer& layer, std::size_t l);

}  // namespace filigree
