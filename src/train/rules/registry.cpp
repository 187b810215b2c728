// SPDX-License-Identifier: Apache-2.0
// The rules there are.
#include "train/rules/rule.h"

namespace filigree::internal {

const EvolutionRule* rule_of(const TrainOptions& options) {
  if (options.network.dense) return nullptr;
  switch (options.evolution.rule) {
    case Evolve::none:
      return nullptr;
    case Evolve::set:
      return &set_rule();
    case Evolve::rigl:
      return &rigl_rule();
    case Evolve::ertl:
      return &ertl_rule();
    case Evolve::prune:
      return options.pruning.structure == Structure::none ? &prune_rule() : &group_rule();
    case Evolve::snfs:
      return &snfs_rule();
    case Evolve::granet:
      return &granet_rule();
  }
  return nullptr;
}

}  // namespace filigree::internal
