// SPDX-License-Identifier: Apache-2.0
// The exact passes in a row: network in, smaller network with the same outputs out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compile/merge_neurons.h"
#include "network/layer_source.h"

namespace filigree {

struct PassReport {
  std::string pass;
  Offset neurons = 0;      // removed
  Offset connections = 0;  // removed
};

// What the executor may rely on about a layer of the original network.
struct LayerFacts {
  Index fan_in = 0;         // largest
  bool nonnegative = true;  // every weight
  bool zero_stays_zero = true;
  bool biases_negative = true;    // every bias, and by more than the smallest numbers
  bool saturation_stays = false;  // inputs all at the cap give outputs all at the cap, however rounded
  float input_cap = 0;            // the cap that saturation_stays speaks of
};
LayerFacts facts_of(const Layer& layer, float input_cap);

struct CompiledNetwork {
  std::vector<Layer> layers;
  std::vector<LayerFacts> facts;       // of the original layers
  std::vector<Index> input_of;         // per original input: the input of layers[0] it is added to, or -1
  std::vector<Index> output_of;        // per original output: its neuron in layers.back(), or -1
  std::vector<float> output_constant;  // where output_of is -1
  std::vector<PassReport> passes;
  Offset original_connections = 0;
  bool biases_changed = false;  // constants other than zero were folded

  Offset connections() const;
};

// Sees each original layer l with its facts, its distinct rows and those of the layer before (null for the
// first). Called for several layers at a time, from several threads.
using LayerVisitor = std::function<void(Index l, const Layer& layer, const LayerFacts& facts,
                                        const DistinctRows& distinct, const DistinctRows* before)>;

// Asks for each layer once, several at a time; layers come in order to the passes.
CompiledNetwork compile_network(const LayerSource& source, const Observer& observer,
                                const LayerVisitor& visitor = {});

// Pass 3: neurons that no later layer reads, and what only they read. The outputs are all read.
PassReport drop_unread_neurons(CompiledNetwork& network);

// Pass 4: inputs that every reader treats alike (same weight everywhere) are added up before the first layer.
PassReport merge_alike_inputs(CompiledNetwork& network);

}  // namespace filigree
