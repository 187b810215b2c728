// SPDX-License-Identifier: Apache-2.0
// Which connections of a network in training stay, and its layers rebuilt from those.
#pragma once

#include <cstdint>
#include <vector>

#include "train/growth.h"

namespace filigree::internal {

using Keep = std::vector<std::uint8_t>;  // per connection: 1 if it stays

std::vector<Keep> keep_all(const std::vector<TrainLayer>& layers);
std::size_t count_kept(const Keep& keep);

// Calls visit(output, input, entry) for each connection.
template <typename Visit>
void for_each_connection(const TrainLayer& layer, const Visit& visit) {
  for (Index r = 0; r < layer.pattern.rows; ++r)
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      layer.by_input ? visit(std::size_t{layer.pattern.column[e]}, r, e)
                     : visit(r, std::size_t{layer.pattern.column[e]}, e);
}

// Neurons of hidden layers that have no input or no consumer. Layers are counted by their outputs.
Index count_dead(const std::vector<TrainLayer>& layers);

// Marks the connections of neurons that have no input or no consumer (Ertl, figure 11), and what only led to
// those. A neuron without input is constant: what it gave its consumers goes to their biases.
void mark_lost(std::vector<TrainLayer>& layers, std::vector<Keep>& keep);

// The places of the connections that stay, without `order` and `runs`.
Pattern kept_pattern(const TrainLayer& layer, const Keep& keep);

// The kept connections with their values and state, and the new ones among them in their order. A new one
// weighs `rate` times its gradient.
void rebuild(TrainLayer& layer, const Keep& keep, const std::vector<Candidate>& grown, double rate,
             Optimizer optimizer, std::size_t slices);

// Rebuilds every layer that loses a connection, and says how many went.
Offset drop_connections(std::vector<TrainLayer>& layers, const std::vector<Keep>& keep, Optimizer optimizer,
                        std::size_t slices);

}  // namespace filigree::internal
