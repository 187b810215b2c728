// SPDX-License-Identifier: Apache-2.0
#include "train/evolve.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "train/rules/budget.h"

namespace filigree::internal {

namespace {

// What layers want, all together no more than `total`: the largest gradients come first.
void keep_largest_of_all(std::vector<std::vector<Candidate>>& wanted, std::size_t total) {
  for (std::vector<Candidate>& candidates : wanted) std::sort(candidates.begin(), candidates.end(), larger);
  std::vector<std::size_t> used(wanted.size(), 0);
  for (std::size_t i = 0; i < total; ++i) {
    std::size_t best = wanted.size();
    for (std::size_t l = 0; l < wanted.size(); ++l)
      if (used[l] < wanted[l].size() &&
          (best == wanted.size() ||
           std::fabs(wanted[l][used[l]].gradient) > std::fabs(wanted[best][used[best]].gradient)))
        best = l;
    if (best == wanted.size()) break;
    ++used[best];
  }
  for (std::size_t l = 0; l < wanted.size(); ++l) wanted[l].resize(used[l]);
}

}  // namespace

Evolution evolve(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 const GrowthView* growth, std::size_t slices) {
  const EvolutionRule& rule = *rule_of(options);
  const RuleContext context{options, moment, growth};
  std::vector<Keep> keep = keep_all(layers);
  if (options.evolution.free_lost) {
    rule.free_useless(layers, context, keep);
    mark_lost(layers, keep);  // when the last change had ended, and nothing has found them since
  }
  const Drop drop = rule.drop(layers, context, keep);
  if (drop.wanted == 0) return {drop_connections(layers, keep, options.learning.optimizer, slices), 0};

  Evolution evolution;
  std::vector<Pattern> taken;
  std::vector<std::size_t> dropped, room;
  std::size_t kept = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    taken.push_back(kept_pattern(layers[l], keep[l]));
    dropped.push_back(keep[l].size() - taken[l].nnz());
    room.push_back(layers[l].capacity() - taken[l].nnz());
    kept += taken[l].nnz();
    evolution.dropped += static_cast<Offset>(dropped[l]);
  }
  const std::size_t total = drop.wanted > kept ? drop.wanted - kept : 0;
  std::vector<std::size_t> count = shares(total, drop.share, room);
  std::vector<std::vector<Candidate>> grown(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t most = drop.compares_layers ? std::min(total, room[l]) : count[l];
    grown[l] = rule.grow(l, context, taken[l], most, dropped[l]);
  }
  if (drop.compares_layers) {
    keep_largest_of_all(grown, total);
    std::size_t found = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      room[l] -= grown[l].size();
      found += grown[l].size();
    }
    const std::vector<std::size_t> rest = shares(total - found, drop.share, room);
    for (std::size_t l = 0; l < layers.size(); ++l) count[l] = grown[l].size() + rest[l];
  }
  parallel_for(layers.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) {
      Random random = random_stream(options.run.seed, Stream::growth, l, moment.step);
      if (grown[l].size() < count[l])
        choose_at_random(taken[l], count[l] - grown[l].size(), random, grown[l]);
      if (dropped[l] > 0 || !grown[l].empty())
        rebuild(layers[l], keep[l], grown[l], rule.rate(context), options.learning.optimizer, slices);
    }
  });
  for (const std::vector<Candidate>& candidates : grown)
    evolution.grown += static_cast<Offset>(candidates.size());
  return evolution;
}

}  // namespace filigree::internal
