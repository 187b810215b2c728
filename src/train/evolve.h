// SPDX-License-Identifier: Apache-2.0
// A change of the topology, as its rule decides it: connections go, new ones come.
#pragma once

#include "train/rules/rule.h"

namespace filigree::internal {

struct Evolution {
  Offset dropped = 0, grown = 0;
};

// `growth` knows the samples whose gradients decide what grows, for rules that need them.
Evolution evolve(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 const GrowthView* growth, std::size_t slices);

}  // namespace filigree::internal
