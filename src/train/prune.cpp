// SPDX-License-Identifier: Apache-2.0
#include "train/prune.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/connections.h"
#include "train/topology.h"

namespace filigree {

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
  switch (options.prune_by) {
    case PruneBy::magnitude:
      return std::bit_cast<std::uint32_t>(std::fabs(layer.value[e]));
    case PruneBy::taylor:
      return std::bit_cast<std::uint32_t>(std::fabs(layer.value[e] * layer.gradient[e]));
    case PruneBy::random:
      break;
  }
  return random.below(~std::uint64_t{0});
}

// As many as there are classes, so that no layer is cut through.
std::size_t least_connections(const std::vector<TrainLayer>& layers, std::size_t l) {
  return static_cast<std::size_t>(std::min(layers[l].outputs, layers.back().outputs));
}

std::vector<Worth> worths(const TrainLayer& layer, std::uint32_t l, const TrainOptions& options,
                          const Moment& moment, const Keep& keep) {
  Random random = random_stream(options.seed, Stream::growth, l, static_cast<std::uint64_t>(moment.step));
  std::vector<Worth> list;
  list.reserve(keep.size());
  for (std::uint32_t e = 0; e < keep.size(); ++e) {
    const std::uint64_t s = score(layer, options, e, random);
    if (keep[e]) list.push_back({s, l, e});
  }
  return list;
}

}  // namespace

std::vector<std::size_t> kept_connections(const std::vector<TrainLayer>& layers, const TrainOptions& options,
                                          const Moment& moment) {
  const std::vector<Offset> start = connections_per_layer(options);
  const double left = options.prune_schedule == PruneSchedule::once ? 0 : 1 - share_done(options, moment);
  // Compared all together, layers keep what the network keeps; each for itself, none keeps more than it has.
  double all_first = 0, all_last = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    all_first += static_cast<double>(start[l]);
    all_last += static_cast<double>(layers[l].capacity()) * (1 - options.final_sparsity);
  }
  const double share = std::min(1.0, all_last / all_first);
  const bool global = options.redistribute == Redistribute::global;
  std::vector<std::size_t> kept;
  double exact = 0;
  std::size_t given = 0, least = 0;  // rounding the running sum keeps the total
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const auto first = static_cast<double>(start[l]);
    const double last =
        global ? first * share
               : std::min(first, static_cast<double>(layers[l].capacity()) * (1 - options.final_sparsity));
    exact += last + (first - last) * left * left * left;
    const auto upto = static_cast<std::size_t>(std::llround(exact));
    kept.push_back(upto - given);
    given = upto;
    least += least_connections(layers, l);
    if (options.redistribute == Redistribute::layer && kept[l] < least_connections(layers, l))
      fail("a final sparsity of {} leaves layer {} ({} to {} neurons) {} connections; {} are the least",
           options.final_sparsity, l + 1, layers[l].inputs, layers[l].outputs, kept[l],
           least_connections(layers, l));
  }
  if (given < least)
    fail("a final sparsity of {} leaves {} connections; {} are the least", options.final_sparsity, given,
         least);
  return kept;
}

Evolution prune(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                std::size_t slices) {
  std::vector<Keep> keep = keep_all(layers);
  if (options.free_lost) mark_lost(layers, keep);
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
  std::vector<Worth> all;
  for (std::uint32_t l = 0; l < layers.size(); ++l) {
    std::vector<Worth> list = worths(layers[l], l, options, moment, keep[l]);
    if (options.redistribute == Redistribute::layer)
      drop(std::move(list), above(left[l], wanted[l]));
    else
      all.insert(all.end(), list.begin(), list.end());
  }
  if (options.redistribute == Redistribute::global)
    drop(std::move(all), above(std::accumulate(left.begin(), left.end(), std::size_t{0}),
                               std::accumulate(wanted.begin(), wanted.end(), std::size_t{0})));
  return {drop_connections(layers, keep, options.optimizer, slices), 0};
}

}  // namespace filigree
