// SPDX-License-Identifier: Apache-2.0
// GraNet (Liu et al. 2021): the network is pruned gradually, by magnitude over all layers, from `sparsity` to
// `final_sparsity`; with each pruning a share of every layer's smallest weights goes and grows again where
// the gradient is largest.
#include "base/error.h"
#include "train/rules/budget.h"
#include "train/rules/prune.h"

namespace filigree::internal {

namespace {

class GranetRule final : public EvolutionRule {
 public:
  RuleNeeds needs(const TrainOptions&) const override { return RuleNeeds::samples; }
  std::int64_t fewest_changes() const override { return 20; }
  std::int64_t longest_interval() const override { return 100; }

  void check(const std::vector<TrainLayer>& layers, const TrainOptions& options,
             const Moment& moment) const override {
    if (options.evolution.final_sparsity <= options.network.sparsity)
      fail("granet prunes from sparsity {} to a higher final sparsity, but that is {}",
           options.network.sparsity,
           options.evolution.final_sparsity < 0 ? "not given"
                                                : fmt::format("{}", options.evolution.final_sparsity));
    kept_connections(layers, global(options), {moment.last_step, moment.last_step, 0});
  }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    const TrainOptions options = global(context.options);
    mark_pruned(layers, options, context.moment, keep);
    Drop result;
    std::vector<std::size_t> pruned;
    for (const Keep& own : keep) pruned.push_back(count_kept(own));
    const double fraction = drop_fraction(options, context.moment);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      result.wanted += pruned[l];
      if (pruned[l] < layers[l].capacity())
        drop_smallest(layers[l], kept_entries(keep[l]), share_of(fraction, pruned[l]), keep[l]);
      result.share.push_back(pruned[l] - count_kept(keep[l]));
    }
    return result;
  }

  std::vector<Candidate> grow(std::size_t l, const RuleContext& context, const Pattern& taken,
                              std::size_t count, std::size_t) const override {
    return context.growth->largest(l, taken, count, {});
  }

 private:
  static TrainOptions global(TrainOptions options) {
    options.evolution.redistribute = Redistribute::global;
    return options;
  }
};

}  // namespace

const EvolutionRule& granet_rule() {
  static const GranetRule rule;
  return rule;
}

}  // namespace filigree::internal
