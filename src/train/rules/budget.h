// SPDX-License-Identifier: Apache-2.0
// The arithmetic that rules share: how much goes, how much there is to be, and how it is divided.
#pragma once

#include "train/rules/rule.h"

namespace filigree::internal {

// The share of weights that are dropped now.
double drop_fraction(const TrainOptions& options, const Moment& moment);

// The end is reached by the last change, not at some step after it: the share of the way that is done.
double share_done(const TrainOptions& options, const Moment& moment);

// Whether all layers share one number of connections.
bool layers_compared(const TrainOptions& options);

// Of an amount that pruning removes, what is not to be removed yet.
double not_yet_pruned(double amount, const TrainOptions& options, const Moment& moment);

// Connections the network should have after this change (they differ with final_sparsity only).
Offset wanted_connections(const TrainOptions& options, const Moment& moment);

// The connections that each layer keeps if it is pruned by itself until this moment; all together they are
// what the network keeps. Throws Error if that is less than a layer must keep.
std::vector<std::size_t> kept_connections(const std::vector<TrainLayer>& layers, const TrainOptions& options,
                                          const Moment& moment);
// What a layer must keep: as many as there are classes, so that none is cut through.
std::size_t least_connections(const std::vector<TrainLayer>& layers, std::size_t l);

std::size_t share_of(double fraction, std::size_t count);  // rounded

template <typename Which>
std::vector<std::uint32_t> kept_entries(const Keep& keep, const Which& which) {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t e = 0; e < keep.size(); ++e)
    if (keep[e] && which(e)) entries.push_back(e);
  return entries;
}
std::vector<std::uint32_t> kept_entries(const Keep& keep);

// Drops the `count` first of `entries` in the order of |weight|.
void drop_smallest(const TrainLayer& layer, const std::vector<std::uint32_t>& entries, std::size_t count,
                   Keep& keep);

// The smallest `fraction` of a layer's weights; connections that were freed already are part of it.
void drop_share(const TrainLayer& layer, double fraction, Keep& keep);

// The smallest weights of all layers together. Each layer keeps a tenth, so that none is cut through.
void drop_globally(const std::vector<TrainLayer>& layers, double fraction, std::vector<Keep>& keep);

// After each layer or all together have dropped: what else a schedule asks to go, and how the rest is shared:
// each layer grows back to its share, or in proportion to what it kept (DSR, Mostafa and Wang 2019).
Drop shared_out(const std::vector<TrainLayer>& layers, const RuleContext& context, std::vector<Keep>& keep);

// Calls drop(layer, keep) for every layer that is not full: there, what would grow is what was dropped.
template <typename DropInLayer>
void drop_by_layer(std::vector<TrainLayer>& layers, std::vector<Keep>& keep, const DropInLayer& drop);

// Splits `total` in proportion to `weight`, exactly, and no part above its limit.
std::vector<std::size_t> shares(std::size_t total, const std::vector<double>& weight,
                                const std::vector<std::size_t>& limit);

}  // namespace filigree::internal

#include "base/parallel.h"

namespace filigree::internal {

template <typename DropInLayer>
void drop_by_layer(std::vector<TrainLayer>& layers, std::vector<Keep>& keep, const DropInLayer& drop) {
  parallel_for(layers.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l)
      if (layers[l].connections() < layers[l].capacity()) drop(layers[l], keep[l]);
  });
}

}  // namespace filigree::internal
