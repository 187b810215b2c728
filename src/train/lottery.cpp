// SPDX-License-Identifier: Apache-2.0
#include "train/lottery.h"

#include <algorithm>

#include "train/evolve.h"
#include "train/start.h"
#include "train/topology.h"

namespace filigree::internal {

namespace {

// The entries of `values` that `pattern` has, too.
CsrMatrix restricted(const CsrMatrix& values, const CsrMatrix& pattern) {
  CsrMatrix result = pattern;
  for (Index r = 0; r < pattern.rows; ++r) {
    const CsrView from = values.view();
    const auto columns = from.row_columns(r);
    auto at = columns.begin();
    for (Offset e = pattern.row_begin[r]; e < pattern.row_begin[r + 1]; ++e) {
      at = std::lower_bound(at, columns.end(), pattern.column[e]);
      result.value[e] = from.row_values(r)[at - columns.begin()];
    }
  }
  return result;
}

}  // namespace

Network with_fresh_values(const Network& network, const TrainOptions& options) {
  TrainOptions sparse = options;
  sparse.network.dense = false;
  std::vector<TrainLayer> layers = layers_of(network, sparse, false);
  std::vector<Layer> fresh;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    draw_values(options, layers[l], l);
    std::ranges::fill(layers[l].bias, 0.0f);
    fresh.push_back(to_layer(layers[l]));
  }
  return with_layers(network, std::move(fresh), "fresh values");
}

Network draw_ticket(const Network& trained, const Network& early, const TrainOptions& options) {
  TrainOptions once = options;
  once.network.dense = false;
  once.evolution.rule = Evolve::prune;
  once.pruning.by = PruneBy::magnitude;
  once.pruning.schedule = PruneSchedule::once;
  take_shape(trained, once);
  std::vector<TrainLayer> layers = layers_of(trained, once, false);
  evolve(layers, once, {}, nullptr, 1);
  std::vector<Layer> ticket = copied_layers(early);
  for (std::size_t l = 0; l < layers.size(); ++l)
    ticket[l].weights = restricted(ticket[l].weights, to_layer(layers[l]).weights);
  return with_layers(early, std::move(ticket), "a ticket");
}

}  // namespace filigree::internal
