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
      switch (options.pruning.structure) {
        case Structure::none:
          return &prune_rule();
        case Structure::neurons:
        case Structure::blocks:
        case Structure::n_of_m:
          return &group_rule();
      }
      return nullptr;
    case Evolve::snfs:
      return &snfs_rule();
    case Evolve::granet:
      return &granet_rule();
  }
  return nullptr;
}

}  // namespace filigree::internal
