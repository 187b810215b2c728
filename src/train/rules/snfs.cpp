// SPDX-License-Identifier: Apache-2.0
// Sparse networks from scratch (Dettmers and Zettlemoyer 2019): the smallest weights of each layer go; layers
// whose connections have the largest mean momentum get the most new ones, where the gradient is largest. The
// authors grow by the momentum of connections that do not exist, which is a dense matrix a layer; here the
// gradient over options.growth_batches batches takes its place.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/optimizer.h"
#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

class SnfsRule final : public EvolutionRule {
 public:
  RuleNeeds needs(const TrainOptions&) const override { return RuleNeeds::samples; }

  void check(const std::vector<TrainLayer>&, const TrainOptions& options, const Moment&) const override {
    if (moments_of(options.learning.optimizer) == 0)
      fail("snfs divides what grows by momentum, but {} has none", word(options.learning.optimizer));
  }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    const double fraction = drop_fraction(context.options, context.moment);
    drop_by_layer(layers, keep, [&](TrainLayer& layer, Keep& own) { drop_share(layer, fraction, own); });
    Drop result = shared_out(layers, context, keep);
    result.compares_layers = false;
    for (std::size_t l = 0; l < layers.size(); ++l) result.share[l] = mean_momentum(layers[l], keep[l]);
    return result;
  }

  std::vector<Candidate> grow(std::size_t l, const RuleContext& context, const Pattern& taken,
                              std::size_t count, std::size_t) const override {
    return context.growth->largest(l, taken, count, {});
  }

 private:
  static double mean_momentum(const TrainLayer& layer, const Keep& keep) {
    double sum = 0;
    for (std::size_t e = 0; e < keep.size(); ++e)
      if (keep[e]) sum += std::fabs(layer.first[e]);
    return sum / (std::max<std::size_t>(1, count_kept(keep)));
  }
};

}  // namespace

const EvolutionRule& snfs_rule() {
  static const SnfsRule rule;
  return rule;
}

}  // namespace filigree::internal
