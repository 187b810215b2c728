// SPDX-License-Identifier: Apache-2.0
// The exact passes in a row: network in, smaller network with the same outputs out.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compile/merge_neurons.h"
#include "filigree/plan.h"
#include "network/network.h"

namespace filigree::internal {

// What the executor may rely on about a layer of the original network.
struct LayerFacts {
  Index fan_in = 0;         // largest
  bool nonnegative = true;  // every weight
  bool zero_stays_zero = true;
  bool non_decreasing = true;     // the activation
  bool biases_negative = true;    // every bias, and by more than the smallest numbers
  bool saturation_stays = false;  // inputs all at the cap give outputs all at the cap, however rounded
  float input_cap = 0;            // the cap that saturation_stays speaks of
};
LayerFacts facts_of(const Layer& layer, float input_cap);

// A network and what was found out on the way to it.
struct Compiled {
  Network network;                // with maps from the outer inputs and to the outer outputs
  std::vector<LayerFacts> facts;  // of the original layers
  std::vector<CompilePass> passes;
  Offset connections_before = 0;
  bool biases_changed = false;  // constants other than zero were folded
};

// Sees each original layer l with its facts, its distinct rows and those of the layer before (null for the
// first). Called for several layers at a time, from several threads.
using LayerVisitor = std::function<void(Index l, const Layer& layer, const LayerFacts& facts,
                                        const DistinctRows& distinct, const DistinctRows* before)>;

// All passes in order. Asks for each layer once, several at a time; layers come in order to the passes. Exits
// are left out; mixtures are an Error. Maps of a network that was compiled before are followed by the new
// ones.
Compiled compile_exactly(const Network& network, const Observer& observer = {},
                         const LayerVisitor& visitor = {});

// Of a pass that goes from network to network; layers it does not change are shared.
struct PassResult {
  Network network;
  CompilePass report;
};

// Pass 3: neurons that no later layer reads, and what only they read. The outputs are all read.
PassResult drop_unread_neurons(const Network& network);

// Pass 4: inputs that every consumer treats alike (same weight everywhere) are added up before the first
// layer.
PassResult merge_alike_inputs(const Network& network);

}  // namespace filigree::internal
