// SPDX-License-Identifier: Apache-2.0
// How a topology changes: what goes, what comes, and what must be known for it. A rule is a file here and a
// line of registry.cpp.
#pragma once

#include <cstdint>
#include <vector>

#include "train/connections.h"
#include "train/growth.h"
#include "train/layer.h"

namespace filigree::internal {

// Where a run stands when its topology changes.
struct Moment {
  std::int64_t step = 0;       // steps done
  std::int64_t last_step = 0;  // from which on the topology stays
  double lr = 0;               // Ertl's new weights are -lr · gradient
};

struct RuleContext {
  const TrainOptions& options;
  const Moment& moment;
  const GrowthView* growth;  // of a rule that needs samples; else null
};

// What the trainer gets ready before a change.
enum class RuleNeeds {
  nothing,
  samples,    // whose gradients say what would be good to have
  gradients,  // of the connections there are, in the first slice of each layer's
};

// What a rule decides to drop, and how what then grows is divided.
struct Drop {
  std::size_t wanted = 0;          // connections of the network after the change
  std::vector<double> share = {};  // by which layers share what grows
  bool compares_layers = false;    // the largest gradients of all layers grow, wherever they are
};

class EvolutionRule {
 public:
  virtual ~EvolutionRule() = default;

  virtual RuleNeeds needs(const TrainOptions&) const { return RuleNeeds::nothing; }
  // Changes come at least so many times in a run, and at most so many steps apart, unless the user says when.
  virtual std::int64_t fewest_changes() const { return 10; }
  virtual std::int64_t longest_interval() const { return 250; }
  // One change before the first step, and no other.
  virtual bool once(const TrainOptions&) const { return false; }
  // Throws Error if it could not do what the options ask of it.
  virtual void check(const std::vector<TrainLayer>&, const TrainOptions&, const Moment&) const {}

  // Between changes, every so many steps (0: never): pulls at the weights, by so much of a step.
  virtual std::int64_t pulls_every(const TrainOptions&) const { return 0; }
  virtual void pull(std::vector<TrainLayer>&, const TrainOptions&, double /*step*/) const {}

  // Unmarks connections that do nothing, before those of neurons without input or consumer.
  virtual void free_useless(const std::vector<TrainLayer>&, const RuleContext&, std::vector<Keep>&) const {}
  // Unmarks what goes. `keep` has what is left.
  virtual Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
                    std::vector<Keep>& keep) const = 0;
  // Up to `count` connections that layer number `l` should get in addition to those `taken`; others come by
  // chance.
  virtual std::vector<Candidate> grow(std::size_t /*l*/, const RuleContext&, const Pattern& /*taken*/,
                                      std::size_t /*count*/, std::size_t /*dropped*/) const {
    return {};
  }
  // A new connection weighs this times its gradient.
  virtual double rate(const RuleContext&) const { return 0; }
};

// Null: the topology stays as it is.
const EvolutionRule* rule_of(const TrainOptions& options);

// One for each file here.
const EvolutionRule& set_rule();
const EvolutionRule& rigl_rule();
const EvolutionRule& ertl_rule();
const EvolutionRule& snfs_rule();
const EvolutionRule& granet_rule();
const EvolutionRule& prune_rule();
const EvolutionRule& group_rule();

}  // namespace filigree::internal
