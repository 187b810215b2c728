// SPDX-License-Identifier: Apache-2.0
#include "train/rules/budget.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "train/topology.h"

namespace filigree::internal {

double drop_fraction(const TrainOptions& options, const Moment& moment) {
  const double done =
      moment.last_step > 0 ? std::min(1.0, static_cast<double>(moment.step) / moment.last_step) : 1;
  switch (options.evolution.drop_schedule) {
    case DropSchedule::cosine:
      return options.evolution.drop_fraction / 2 * (1 + std::cos(std::numbers::pi * done));
    case DropSchedule::linear:
      return options.evolution.drop_fraction * (1 - done);
    case DropSchedule::constant:
      return options.evolution.drop_fraction;
  }
  return 0;
}

double share_done(const TrainOptions& options, const Moment& moment) {
  const std::int64_t evolutions = (moment.last_step - 1) / options.evolution.update_every;
  if (evolutions < 1) return 1;
  return std::min(1.0, static_cast<double>(moment.step) / (evolutions * options.evolution.update_every));
}

bool layers_compared(const TrainOptions& options) {
  switch (options.evolution.redistribute) {
    case Redistribute::layer:
      return false;
    case Redistribute::global:
      return true;
  }
  return false;
}

double not_yet_pruned(double amount, const TrainOptions& options, const Moment& moment) {
  switch (options.pruning.schedule) {
    case PruneSchedule::once:
      return 0;
    case PruneSchedule::cubic: {
      const double left = 1 - share_done(options, moment);
      return amount * left * left * left;
    }
  }
  return 0;
}

Offset wanted_connections(const TrainOptions& options, const Moment& moment) {
  double all = 0, first = 0;
  for (const LayerShape& layer : layout(options)) {
    all += static_cast<double>(layer.inputs) * layer.outputs;
    first += layer.connections;
  }
  const double last =
      options.evolution.final_sparsity >= 0 ? all * (1 - options.evolution.final_sparsity) : first;
  return std::llround(first + (last - first) * share_done(options, moment));
}

std::size_t least_connections(const std::vector<TrainLayer>& layers, std::size_t l) {
  return std::min(layers[l].outputs, layers.back().outputs);
}

std::vector<std::size_t> kept_connections(const std::vector<TrainLayer>& layers, const TrainOptions& options,
                                          const Moment& moment) {
  const std::vector<Offset> start = connections_per_layer(options);
  // Compared all together, layers keep what the network keeps; each for itself, none keeps more than it has.
  double all_first = 0, all_last = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    all_first += start[l];
    all_last += layers[l].capacity() * (1 - options.evolution.final_sparsity);
  }
  const double share = std::min(1.0, all_last / all_first);
  const bool global = layers_compared(options);
  std::vector<std::size_t> kept;
  double exact = 0;
  std::size_t given = 0, least = 0;  // rounding the running sum keeps the total
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const double first = start[l];
    const double last = global
                            ? first * share
                            : std::min(first, layers[l].capacity() * (1 - options.evolution.final_sparsity));
    exact += last + not_yet_pruned(first - last, options, moment);
    const std::size_t upto = std::llround(exact);
    kept.push_back(upto - given);
    given = upto;
    least += least_connections(layers, l);
    if (!global && kept[l] < least_connections(layers, l))
      fail("a final sparsity of {} leaves layer {} ({} to {} neurons) {} connections; {} are the least",
           options.evolution.final_sparsity, l + 1, layers[l].inputs, layers[l].outputs, kept[l],
           least_connections(layers, l));
  }
  if (given < least)
    fail("a final sparsity of {} leaves {} connections; {} are the least", options.evolution.final_sparsity,
         given, least);
  return kept;
}

std::size_t share_of(double fraction, std::size_t count) {
  return std::llround(fraction * count);
}

std::vector<std::uint32_t> kept_entries(const Keep& keep) {
  return kept_entries(keep, [](std::uint32_t) { return true; });
}

void drop_smallest(const TrainLayer& layer, const std::vector<std::uint32_t>& entries, std::size_t count,
                   Keep& keep) {
  count = std::min(count, entries.size());
  // Magnitude and place in one number: the bits of a positive float are in the order of its value.
  std::vector<std::uint64_t> keys;
  keys.reserve(entries.size());
  for (const std::uint32_t e : entries)
    keys.push_back(std::uint64_t{std::bit_cast<std::uint32_t>(std::fabs(layer.value[e]))} << 32 | e);
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(count), keys.end());
  for (std::size_t i = 0; i < count; ++i) keep[keys[i] & 0xffffffffu] = 0;
}

void drop_share(const TrainLayer& layer, double fraction, Keep& keep) {
  const std::size_t freed = keep.size() - count_kept(keep);
  const std::size_t count = share_of(fraction, keep.size());
  if (count > freed) drop_smallest(layer, kept_entries(keep), count - freed, keep);
}

void drop_globally(const std::vector<TrainLayer>& layers, double fraction, std::vector<Keep>& keep) {
  struct Entry {
    float magnitude;
    std::uint32_t layer, entry;
    bool operator<(const Entry& o) const {
      if (magnitude != o.magnitude) return magnitude < o.magnitude;
      return layer != o.layer ? layer < o.layer : entry < o.entry;
    }
  };
  std::vector<Entry> entries;
  std::size_t all = 0, lost = 0;
  for (std::uint32_t l = 0; l < layers.size(); ++l) {
    all += keep[l].size();
    lost += keep[l].size() - count_kept(keep[l]);
    for (std::uint32_t e = 0; e < keep[l].size(); ++e)
      if (keep[l][e]) entries.push_back({std::fabs(layers[l].value[e]), l, e});
  }
  std::size_t count = share_of(fraction, all);
  count = count > lost ? std::min(count - lost, entries.size()) : 0;
  std::partial_sort(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(count), entries.end());
  std::vector<std::size_t> left;
  left.reserve(keep.size());
  for (const Keep& k : keep) left.push_back(count_kept(k));
  for (std::size_t i = 0; i < count; ++i) {
    const auto [magnitude, l, e] = entries[i];
    if (10 * left[l] <= keep[l].size()) continue;
    keep[l][e] = 0;
    --left[l];
  }
}

Drop shared_out(const std::vector<TrainLayer>& layers, const RuleContext& context, std::vector<Keep>& keep) {
  const TrainOptions& options = context.options;
  const bool global = layers_compared(options);
  std::size_t before = 0;
  for (const TrainLayer& layer : layers) before += layer.connections();
  Drop result;
  // Without a sparsity schedule the network stays as large as it is.
  result.wanted =
      options.evolution.final_sparsity >= 0
          ? static_cast<std::size_t>(std::max<Offset>(1, wanted_connections(options, context.moment)))
          : before;
  result.compares_layers = global;
  const double size_factor = static_cast<double>(result.wanted) / before;
  double exact = 0;
  std::size_t given = 0;                             // rounding the running sum keeps the total
  for (std::size_t l = 0; l < layers.size(); ++l) {  // a schedule may ask for more to go than the rule does
    exact += size_factor * keep[l].size();
    const std::size_t upto = std::llround(exact);
    const std::size_t share = upto > given ? upto - given : 1;
    given += share;
    const std::size_t left = count_kept(keep[l]);
    if (left > share) drop_smallest(layers[l], kept_entries(keep[l]), left - share, keep[l]);
    const double here = count_kept(keep[l]);
    result.share.push_back(global ? here : std::max(0.0, size_factor * keep[l].size() - here));
  }
  return result;
}

std::vector<std::size_t> shares(std::size_t total, const std::vector<double>& weight,
                                const std::vector<std::size_t>& limit) {
  std::vector<std::size_t> part(weight.size(), 0);
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  double exact = 0;
  std::size_t given = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    exact += sum > 0 ? total * weight[i] / sum : 0.0;
    const std::size_t upto = std::llround(exact);
    part[i] = std::min(limit[i], upto > given ? upto - given : 0);
    given += part[i];
  }
  for (std::size_t i = 0; i < weight.size() && given < total; ++i) {  // what a full layer could not take
    const std::size_t more = std::min(limit[i] - part[i], total - given);
    part[i] += more;
    given += more;
  }
  return part;
}

}  // namespace filigree::internal
