// SPDX-License-Identifier: Apache-2.0
// Networks for tests.
#pragma once

#include <utility>
#include <vector>

#include "network/model_file.h"

namespace filigree::internal {

inline Network in_memory(std::vector<Layer> layers, NetworkFacts facts = {}) {
  Network::Parts parts;
  parts.facts = std::move(facts);
  return Network(parts.with(std::move(layers), "network in memory"));
}

// A network in pieces that may be changed, into what is no network as well.
struct Pieces {
  std::vector<Layer> layers;
  PortMap ports = {};
  NetworkFacts facts = {};
  std::vector<ExitHead> exits = {};

  Network network() const {
    Network::Parts parts{nullptr, ports, facts, exits};
    return Network(parts.with(layers, "network in memory"));
  }
};

inline Pieces pieces_of(const Network& network) {
  const Network::Parts& parts = network.parts();
  return {copied_layers(network), parts.ports, parts.facts, parts.exits};
}

inline void write_model(const std::filesystem::path& path, const Pieces& pieces) {
  std::vector<LayerPointer> layers;
  for (const Layer& layer : pieces.layers) layers.push_back(std::make_shared<const Layer>(layer));
  write_model(path, {nullptr, pieces.ports, pieces.facts, pieces.exits}, layers);
}

}  // namespace filigree::internal
