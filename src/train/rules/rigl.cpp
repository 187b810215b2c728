// SPDX-License-Identifier: Apache-2.0
// RigL (Evci et al. 2020): the smallest weights go, and connections come where the gradient is largest.
#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

class RiglRule final : public EvolutionRule {
 public:
  RuleNeeds needs(const TrainOptions&) const override { return RuleNeeds::samples; }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    const double fraction = drop_fraction(context.options, context.moment);
    if (layers_compared(context.options))
      drop_globally(layers, fraction, keep);
    else
      drop_by_layer(layers, keep, [&](TrainLayer& layer, Keep& own) { drop_share(layer, fraction, own); });
    return shared_out(layers, context, keep);
  }

  std::vector<Candidate> grow(std::size_t l, const RuleContext& context, const Pattern& taken,
                              std::size_t count, std::size_t) const override {
    return context.growth->largest(l, taken, count, {});
  }
};

}  // namespace

const EvolutionRule& rigl_rule() {
  static const RiglRule rule;
  return rule;
}

}  // namespace filigree::internal
