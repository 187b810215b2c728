// SPDX-License-Identifier: Apache-2.0
// Ertl: what is below a threshold goes, and grows where neurons cost most; connections of neurons without any
// cost are freed.
#include <algorithm>
#include <cmath>

#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

// Marks the connections of hidden neurons whose cost was zero in every recorded sample: relus that never
// fired. No gradient reaches them, so they would stay as they are for ever (Ertl, section 5.1).
void mark_costless(const std::vector<TrainLayer>& layers, const GrowthView& growth, std::vector<Keep>& keep) {
  using Marks = std::vector<std::uint8_t>;  // per neuron: without cost
  const std::vector<std::size_t> from = levels_of(layers);
  std::vector<Marks> own, of_level(1);  // of experts each for itself, and of all that lead to a level
  for (std::size_t l = 0; l < layers.size(); ++l) {
    Marks& here = own.emplace_back(static_cast<std::size_t>(layers[l].outputs), 0);
    if (!leads_on(layers[l])) continue;
    const std::vector<double> costs = growth.costs(l);
    for (std::size_t o = 0; o < here.size(); ++o) here[o] = costs[o] == 0;
    // An expert that was given no sample is not without use.
    if (layers[l].role == LayerRole::expert && std::ranges::count(here, 0) == 0) std::ranges::fill(here, 0);
    if (of_level.size() == from[l] + 1) of_level.emplace_back(here.size(), 1);
    for (std::size_t o = 0; o < here.size(); ++o) of_level[from[l] + 1][o] &= here[o];
  }
  const std::size_t last = of_level.size() - 1;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].connections() == layers[l].capacity()) continue;  // what is freed would grow there again
    const bool hidden = leads_on(layers[l]) && from[l] + 1 < last;
    for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
      if ((hidden && own[l][output]) || (from[l] > 0 && of_level[from[l]][input])) keep[l][e] = 0;
    });
  }
}

// Ertl: everything below τ goes; τ then moves so that next time about the target share does. No more than
// half a layer goes at once, whatever τ is.
void drop_below_threshold(TrainLayer& layer, const TrainOptions& options, Keep& keep) {
  const auto small =
      kept_entries(keep, [&](std::uint32_t e) { return std::fabs(layer.value[e]) < layer.threshold; });
  const double share = static_cast<double>(small.size()) / keep.size();
  layer.threshold *= share > options.evolution.threshold_share ? 1 / options.evolution.threshold_factor
                                                               : options.evolution.threshold_factor;
  drop_smallest(layer, small, keep.size() / 2, keep);
}

class ErtlRule final : public EvolutionRule {
 public:
  RuleNeeds needs(const TrainOptions&) const override { return RuleNeeds::samples; }

  void free_useless(const std::vector<TrainLayer>& layers, const RuleContext& context,
                    std::vector<Keep>& keep) const override {
    mark_costless(layers, *context.growth, keep);
  }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    drop_by_layer(layers, keep,
                  [&](TrainLayer& layer, Keep& own) { drop_below_threshold(layer, context.options, own); });
    return shared_out(layers, context, keep);
  }

  std::vector<Candidate> grow(std::size_t l, const RuleContext& context, const Pattern& taken,
                              std::size_t count, std::size_t dropped) const override {
    const double k = std::ceil(std::sqrt(std::max<std::size_t>(1, dropped)));
    const auto outputs = costliest_neurons(context.growth->costs(l), k);
    return context.growth->largest(l, taken, count, outputs);
  }

  double rate(const RuleContext& context) const override { return -context.moment.lr; }
};

}  // namespace

const EvolutionRule& ertl_rule() {
  static const ErtlRule rule;
  return rule;
}

}  // namespace filigree::internal
