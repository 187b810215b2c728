// SPDX-License-Identifier: Apache-2.0
// Evolution of the topology: small weights go, new connections come.
#pragma once

#include "train/growth.h"

namespace filigree {

struct Evolution {
  Offset dropped = 0, grown = 0;
};

// Where a run stands when its topology evolves.
struct Moment {
  std::int64_t step = 0;       // steps done
  std::int64_t last_step = 0;  // from which on the topology stays
  double lr = 0;               // Ertl's new weights are -lr · gradient
};

// The share of weights that are dropped now.
double drop_fraction(const TrainOptions& options, const Moment& moment);

// Connections the network should have after this evolution (they change with final_sparsity only).
Offset wanted_connections(const TrainOptions& options, const Moment& moment);

// The end is reached by the last evolution, not at some step after it: the share of the way that is done.
double share_done(const TrainOptions& options, const Moment& moment);

// `growth` knows the samples whose gradients decide what grows; null will do for Evolve::set.
Evolution evolve(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 const GrowthView* growth, std::size_t slices);

}  // namespace filigree
