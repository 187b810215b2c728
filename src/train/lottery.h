// SPDX-License-Identifier: Apache-2.0
// Lottery tickets: connections that are kept for what they became, with the values they had.
#pragma once

#include "network/model_file.h"
#include "train/layer.h"

namespace filigree {

// The same connections with weights by chance (options.init, options.seed) and biases of zero.
Model with_fresh_values(const Model& model, const TrainOptions& options);

// Of `early`, only the connections that pruning `trained` at once to options.final_sparsity leaves. `early`
// has all connections of `trained`.
Model draw_ticket(const Model& trained, const Model& early, const TrainOptions& options);

}  // namespace filigree
