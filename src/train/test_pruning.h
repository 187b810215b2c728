// SPDX-License-Identifier: Apache-2.0
// For tests of pruning: networks that are to lose weights, and the end of a run.
#pragma once

#include "train/evolve.h"
#include "train/test_training.h"

namespace filigree::internal {

// From one sparsity to another, all layers compared, every ten steps; lost connections stay.
inline TrainOptions pruning(std::vector<Index> network, double from, double to) {
  TrainOptions options;
  options.network.neurons = std::move(network);
  options.network.sparsity = from;
  options.network.distribution = Distribution::uniform;
  options.evolution.rule = Evolve::prune;
  options.evolution.final_sparsity = to;
  options.evolution.redistribute = Redistribute::global;
  options.evolution.free_lost = false;
  options.evolution.update_every = 10;
  return options;
}

inline std::size_t connections(const std::vector<TrainLayer>& layers) {
  std::size_t sum = 0;
  for (const TrainLayer& layer : layers) sum += layer.connections();
  return sum;
}

inline constexpr Moment kEnd{1000, 1000, 0.1};

}  // namespace filigree::internal
