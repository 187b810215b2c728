// SPDX-License-Identifier: Apache-2.0
// The one network: what is loaded, compiled, trained, exported and run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "filigree/network.h"
#include "filigree/scaling.h"
#include "network/layer_source.h"
namespace filigree::internal {

// A head that may end the computation early: it reads what the first `after` layers make of a row.
struct ExitHead {
  Index after = 0;
  Layer layer;
};

// Which of the outer inputs and outputs are whose, in a compiled network. Others have none of it.
struct PortMap {
  std::vector<Index> input_of = {};         // per outer input: the input it is added to, or -1
  std::vector<Index> output_of = {};        // per outer output: the neuron that holds it, or -1
  std::vector<float> output_constant = {};  // its value where output_of is -1
  bool empty() const { return input_of.empty(); }
  bool operator==(const PortMap&) const = default;
};

}  // namespace filigree::internal

namespace filigree {

// Layers, and what comes before the first and after the last of them. A pass takes the parts of one network,
// changes some, and makes another: the rest goes along, and layers are shared.
struct Network::Parts {
  std::shared_ptr<const internal::LayerSource> layers;
  internal::PortMap ports = {};
  NetworkFacts facts = {};                     // of the outer inputs and outputs
  std::vector<internal::ExitHead> exits = {};  // in the order of the layers; with the outputs of the network
  internal::DataOrigin origin = {};            // of its training data

  Index inputs() const;  // outer ones
  Index outputs() const;
  // The same network with other layers in memory. Their outer widths may differ.
  Parts with(std::vector<internal::LayerPointer> changed, std::string description) const;
  Parts with(std::vector<internal::Layer> changed, std::string description) const;
};

}  // namespace filigree

namespace filigree::internal {

// Every layer, in memory. Reports progress where they have to be made.
std::vector<LayerPointer> all_layers(const Network& network, const Observer& observer = {});
// To be changed, and the network that comes of it.
std::vector<Layer> copied_layers(const Network& network);
Network with_layers(const Network& network, std::vector<Layer> layers, std::string description);

Offset connections_of(std::span<const LayerPointer> layers);
Offset connections_of(std::span<const Layer> layers);

// Throws Error if the network has exits or mixtures; `what`: what takes plain ones only.
void require_plain(const Network& network, const char* what);

}  // namespace filigree::internal
