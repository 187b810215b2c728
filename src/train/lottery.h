// SPDX-License-Identifier: Apache-2.0
// Lottery tickets: connections that are kept for what they became, with the values they had.
#pragma once

#include "network/network.h"
#include "train/layer.h"

namespace filigree::internal {

// The same connections with weights by chance (options.init, options.seed) and biases of zero.
Network with_fresh_values(const Network& network, const TrainOptions& options);

// Of `early`, only the connections that pruning `trained` at once to options.final_sparsity leaves. `early`
// has all connections of `trained`.
Network draw_ticket(const Network& trained, const Network& early, const TrainOptions& options);

}  // namespace filigree::internal
