// SPDX-License-Identifier: Apache-2.0
// Pruning by weights: the least worth go, until the network is as sparse as asked.
#include "train/rules/prune.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

// A connection by how much it is worth: the bits of a positive float are in the order of its value.
struct Worth {
  std::uint64_t score = 0;
  std::uint32_t layer = 0, entry = 0;
  bool operator<(const Worth& o) const {
    if (score != o.score) return score < o.score;
    return layer != o.layer ? layer < o.layer : entry < o.entry;
  }
};

std::uint64_t score(const TrainLayer& layer, const TrainOptions& options, std::size_t e, Random& random) {
  switch (options.pruning.by) {
    case PruneBy::magnitude:
      return std::bit_cast<std::uint32_t>(std::fabs(layer.value[e]));
    case PruneBy::taylor:
      return std::bit_cast<std::uint32_t>(std::fabs(layer.value[e] * layer.gradient[e]));
    case PruneBy::random:
      break;
  }
  return random.below(~std::uint64_t{0});
}

std::vector<Worth> worths(const TrainLayer& layer, std::uint32_t l, const TrainOptions& options,
                          const Moment& moment, const Keep& keep) {
  Random random = random_stream(options.run.seed, Stream::growth, l, moment.step);
  std::vector<Worth> list;
  list.reserve(keep.size());
  for (std::uint32_t e = 0; e < keep.size(); ++e) {
    const std::uint64_t s = score(layer, options, e, random);
    if (keep[e]) list.push_back({s, l, e});
  }
  return list;
}

}  // namespace

void mark_pruned(const std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 std::vector<Keep>& keep) {
  const std::vector<std::size_t> wanted = kept_connections(layers, options, moment);
  std::vector<std::size_t> left, least;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    left.push_back(count_kept(keep[l]));
    least.push_back(least_connections(layers, l));
  }
  // The first of a list go until `surplus` are gone.
  const auto drop = [&](std::vector<Worth> list, std::size_t surplus) {
    std::sort(list.begin(), list.end());
    for (auto next = list.begin(); next != list.end() && surplus > 0; ++next) {
      if (left[next->layer] <= least[next->layer]) continue;
      keep[next->layer][next->entry] = 0;
      --left[next->layer];
      --surplus;
    }
  };
  const auto above = [](std::size_t a, std::size_t b) { return a > b ? a - b : 0; };
  const bool compared = layers_compared(options);
  std::vector<Worth> all;
  for (std::uint32_t l = 0; l < layers.size(); ++l) {
    std::vector<Worth> list = worths(layers[l], l, options, moment, keep[l]);
    if (compared)
      all.insert(all.end(), list.begin(), list.end());
    else
      drop(std::move(list), above(left[l], wanted[l]));
  }
  if (compared)
    drop(std::move(all), above(std::accumulate(left.begin(), left.end(), std::size_t{0}),
                               std::accumulate(wanted.begin(), wanted.end(), std::size_t{0})));
}

void check_pruning(const std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment) {
  if (options.pruning.structure != Structure::n_of_m)
    kept_connections(layers, options, {moment.last_step, moment.last_step, 0});
  if (options.pruning.schedule == PruneSchedule::cubic &&
      (moment.last_step - 1) / options.evolution.update_every < 1)
    fail("nothing would be pruned: topology updates end with step {}, before the first, which is step {}",
         moment.last_step - 1, options.evolution.update_every);
}

namespace {

class PruneRule final : public PruningRule {
 public:
  RuleNeeds needs(const TrainOptions& options) const override {
    return options.pruning.by == PruneBy::taylor ? RuleNeeds::gradients : RuleNeeds::nothing;
  }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    mark_pruned(layers, context.options, context.moment, keep);
    return {};
  }
};

}  // namespace

const EvolutionRule& prune_rule() {
  static const PruneRule rule;
  return rule;
}

}  // namespace filigree::internal
