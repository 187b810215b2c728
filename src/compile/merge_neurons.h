// SPDX-License-Identifier: Apache-2.0
// Passes 1 and 2: duplicate neurons become one, constant neurons move into the biases of their consumers.
#pragma once

#include <vector>

#include "network/layer.h"

namespace filigree::internal {

// Rows of a layer that are the same in every respect: connections, weights and bias.
struct DistinctRows {
  std::vector<Index> first;    // the first row of each kind
  std::vector<Index> kind_of;  // per row
};
DistinctRows find_distinct_rows(const Layer& layer);

// Goes through a network once, from the inputs on, and hands back each layer rewritten. A neuron is merged
// with one that reads the same (already merged) neurons with the same weights, bias and activation; its
// consumers' weights are summed. A neuron that reads nothing is a constant.
class MergeSweep {
 public:
  explicit MergeSweep(Index inputs);

  // `distinct` belongs to `layer`; it is apart so that it can be found for many layers at once.
  Layer step(const Layer& layer, const DistinctRows& distinct);

  // What became of each neuron of the layer last stepped over: its index in the rewritten layer, or -1 for a
  // constant.
  const std::vector<Index>& neuron() const { return neuron_; }
  const std::vector<float>& constant() const { return constant_; }

  Offset merged_neurons() const { return merged_; }
  Offset constant_neurons() const { return constants_; }
  // Stored connections that constants made needless: from them, to them, and weights that cancel.
  Offset constant_connections() const { return constant_connections_; }
  bool biases_changed() const { return biases_changed_; }  // a constant other than zero was folded

 private:
  std::vector<Index> neuron_;
  std::vector<float> constant_;
  Index width_;  // neurons of the rewritten layer before
  Offset merged_ = 0, constants_ = 0, constant_connections_ = 0;
  bool biases_changed_ = false;
};

}  // namespace filigree::internal
