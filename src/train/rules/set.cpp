// SPDX-License-Identifier: Apache-2.0
// SET (Mocanu et al. 2018): the smallest positive and the largest negative weights go, and as many come by
// chance.
#include <algorithm>

#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

class SetRule final : public EvolutionRule {
 public:
  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    const double fraction = drop_fraction(context.options, context.moment);
    if (layers_compared(context.options)) {
      drop_globally(layers, fraction, keep);
    } else {
      drop_by_layer(layers, keep,
                    [&](TrainLayer& layer, Keep& own) { drop_both_signs(layer, fraction, own); });
    }
    Drop result = shared_out(layers, context, keep);
    result.compares_layers = false;  // there is nothing to compare
    return result;
  }

 private:
  // Inactive connections that were freed are part of the share that goes.
  static void drop_both_signs(const TrainLayer& layer, double fraction, Keep& keep) {
    const std::size_t freed = keep.size() - count_kept(keep);
    const auto positive = kept_entries(keep, [&](std::uint32_t e) { return layer.value[e] > 0; });
    const auto negative = kept_entries(keep, [&](std::uint32_t e) { return layer.value[e] <= 0; });
    const double left = std::max(0.0, fraction - static_cast<double>(freed) / keep.size());
    drop_smallest(layer, positive, share_of(left, positive.size()), keep);
    drop_smallest(layer, negative, share_of(left, negative.size()), keep);
  }
};

}  // namespace

const EvolutionRule& set_rule() {
  static const SetRule rule;
  return rule;
}

}  // namespace filigree::internal
