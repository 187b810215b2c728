// SPDX-License-Identifier: Apache-2.0
#include "train/evolve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/parallel.h"
#include "train/connections.h"
#include "train/topology.h"

namespace filigree {

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

// Drops the `count` first of `entries` in the order of |weight|.
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

template <typename Which>
std::vector<std::uint32_t> kept_entries(const Keep& keep, const Which& which) {
  std::vector<std::uint32_t> entries;
  for (std::uint32_t e = 0; e < keep.size(); ++e)
    if (keep[e] && which(e)) entries.push_back(e);
  return entries;
}

std::size_t share_of(double fraction, std::size_t count) {
  return static_cast<std::size_t>(std::llround(fraction * static_cast<double>(count)));
}

// Ertl: everything below τ goes; τ then moves so that next time about the target share does. No more than
// half a layer goes at once, whatever τ is.
void drop_below_threshold(TrainLayer& layer, const TrainOptions& options, Keep& keep) {
  const auto small =
      kept_entries(keep, [&](std::uint32_t e) { return std::fabs(layer.value[e]) < layer.threshold; });
  const double share = static_cast<double>(small.size()) / static_cast<double>(keep.size());
  layer.threshold *=
      share > options.threshold_share ? 1 / options.threshold_factor : options.threshold_factor;
  drop_smallest(layer, small, keep.size() / 2, keep);
}

// Lost connections are part of the share that goes.
void drop_in_layer(TrainLayer& layer, const TrainOptions& options, double fraction, Keep& keep) {
  if (layer.connections() == layer.capacity()) return;  // full: what would grow is what was dropped
  const std::size_t lost = keep.size() - count_kept(keep);
  const auto any = [](std::uint32_t) { return true; };
  if (options.evolve == Evolve::ertl) {
    drop_below_threshold(layer, options, keep);
  } else if (options.evolve == Evolve::rigl) {
    const std::size_t count = share_of(fraction, keep.size());
    if (count > lost) drop_smallest(layer, kept_entries(keep, any), count - lost, keep);
  } else {  // set: the smallest positive and the largest negative
    const auto positive = kept_entries(keep, [&](std::uint32_t e) { return layer.value[e] > 0; });
    const auto negative = kept_entries(keep, [&](std::uint32_t e) { return layer.value[e] <= 0; });
    const double left =
        std::max(0.0, fraction - static_cast<double>(lost) / static_cast<double>(keep.size()));
    drop_smallest(layer, positive, share_of(left, positive.size()), keep);
    drop_smallest(layer, negative, share_of(left, negative.size()), keep);
  }
}

// The smallest weights of all layers together. Each layer keeps a tenth, so that none is cut through.
void drop_globally(std::vector<TrainLayer>& layers, double fraction, std::vector<Keep>& keep) {
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

// Up to `count` new connections of layer number `l`.
std::vector<Candidate> choose(std::size_t l, const GrowthView* growth, const TrainOptions& options,
                              const Pattern& taken, std::size_t count, std::size_t dropped) {
  if (options.evolve == Evolve::set) return {};
  std::vector<std::uint32_t> outputs;
  if (options.evolve == Evolve::ertl) {
    const double k = std::ceil(std::sqrt(static_cast<double>(std::max<std::size_t>(1, dropped))));
    outputs = costliest_neurons(growth->costs(l), static_cast<std::size_t>(k));
  }
  return growth->largest(l, taken, count, outputs);
}

// Splits `total` in proportion to `weight`, exactly, and no part above its limit.
std::vector<std::size_t> shares(std::size_t total, const std::vector<double>& weight,
                                const std::vector<std::size_t>& limit) {
  std::vector<std::size_t> part(weight.size(), 0);
  const double sum = std::accumulate(weight.begin(), weight.end(), 0.0);
  double exact = 0;
  std::size_t given = 0;
  for (std::size_t i = 0; i < weight.size(); ++i) {
    exact += sum > 0 ? static_cast<double>(total) * weight[i] / sum : 0.0;
    const auto upto = static_cast<std::size_t>(std::llround(exact));
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

}  // namespace

double drop_fraction(const TrainOptions& options, const Moment& moment) {
  const double done =
      moment.last_step > 0
          ? std::min(1.0, static_cast<double>(moment.step) / static_cast<double>(moment.last_step))
          : 1;
  switch (options.drop_schedule) {
    case DropSchedule::cosine:
      return options.drop_fraction / 2 * (1 + std::cos(std::numbers::pi * done));
    case DropSchedule::linear:
      return options.drop_fraction * (1 - done);
    case DropSchedule::constant:
      return options.drop_fraction;
  }
  return 0;
}

double share_done(const TrainOptions& options, const Moment& moment) {
  const std::int64_t evolutions = (moment.last_step - 1) / options.update_every;
  if (evolutions < 1) return 1;
  return std::min(1.0,
                  static_cast<double>(moment.step) / static_cast<double>(evolutions * options.update_every));
}

Offset wanted_connections(const TrainOptions& options, const Moment& moment) {
  double all = 0, first = 0;
  for (const LayerShape& layer : layout(options)) {
    all += static_cast<double>(layer.inputs) * layer.outputs;
    first += static_cast<double>(layer.connections);
  }
  const double last = options.final_sparsity >= 0 ? all * (1 - options.final_sparsity) : first;
  return std::llround(first + (last - first) * share_done(options, moment));
}

Evolution evolve(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 const GrowthView* growth, std::size_t slices) {
  const double fraction = drop_fraction(options, moment);
  const bool global = options.redistribute == Redistribute::global;
  std::vector<Keep> keep = keep_all(layers);
  std::size_t before = 0;
  for (const TrainLayer& layer : layers) before += layer.connections();
  if (options.free_lost && options.evolve == Evolve::ertl) mark_costless(layers, *growth, keep);
  // What was lost when the last evolution had ended, and nothing has found since.
  if (options.free_lost) mark_lost(layers, keep);
  if (global && options.evolve != Evolve::ertl) {
    drop_globally(layers, fraction, keep);
  } else {
    parallel_for(layers.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t l = first; l < last; ++l) drop_in_layer(layers[l], options, fraction, keep[l]);
    });
  }

  // Without a sparsity schedule the network stays as large as it is.
  const std::size_t wanted =
      options.final_sparsity >= 0
          ? static_cast<std::size_t>(std::max<Offset>(1, wanted_connections(options, moment)))
          : before;
  const double size_factor = static_cast<double>(wanted) / static_cast<double>(before);
  double exact = 0;
  std::size_t given = 0;                             // rounding the running sum keeps the total
  for (std::size_t l = 0; l < layers.size(); ++l) {  // a schedule may ask for more to go than evolution does
    exact += size_factor * static_cast<double>(keep[l].size());
    const auto upto = static_cast<std::size_t>(std::llround(exact));
    const std::size_t share = upto > given ? upto - given : 1;
    given += share;
    const std::size_t left = count_kept(keep[l]);
    if (left > share)
      drop_smallest(layers[l], kept_entries(keep[l], [](std::uint32_t) { return true; }), left - share,
                    keep[l]);
  }

  Evolution evolution;
  std::vector<Pattern> taken;
  std::vector<std::size_t> dropped, room;
  std::vector<double> weight;
  std::size_t kept = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    taken.push_back(kept_pattern(layers[l], keep[l]));
    dropped.push_back(keep[l].size() - taken[l].nnz());
    room.push_back(layers[l].capacity() - taken[l].nnz());
    kept += taken[l].nnz();
    evolution.dropped += static_cast<Offset>(dropped[l]);
    // Per layer: back to its share. Globally, at random: in proportion to what a layer kept (DSR).
    const auto here = static_cast<double>(taken[l].nnz());
    weight.push_back(global ? here : std::max(0.0, size_factor * static_cast<double>(keep[l].size()) - here));
  }
  const std::size_t total = wanted > kept ? wanted - kept : 0;
  std::vector<std::size_t> count = shares(total, weight, room);

  std::vector<std::vector<Candidate>> grown(layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t most = global ? std::min(total, room[l]) : count[l];
    grown[l] = choose(l, growth, options, taken[l], most, dropped[l]);
  }
  if (global && options.evolve != Evolve::set) {  // the largest gradients of all layers
    for (std::vector<Candidate>& candidates : grown) std::sort(candidates.begin(), candidates.end(), larger);
    std::vector<std::size_t> used(layers.size(), 0);
    for (std::size_t i = 0; i < total; ++i) {
      std::size_t best = layers.size();
      for (std::size_t l = 0; l < layers.size(); ++l)
        if (used[l] < grown[l].size() &&
            (best == layers.size() ||
             std::fabs(grown[l][used[l]].gradient) > std::fabs(grown[best][used[best]].gradient)))
          best = l;
      if (best == layers.size()) break;
      ++used[best];
    }
    std::size_t found = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      grown[l].resize(used[l]);
      room[l] -= used[l];
      found += used[l];
    }
    const std::vector<std::size_t> rest = shares(total - found, weight, room);
    for (std::size_t l = 0; l < layers.size(); ++l) count[l] = used[l] + rest[l];
  }
  const double rate = options.evolve == Evolve::ertl ? -moment.lr : 0.0;
  parallel_for(layers.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) {
      Random random = random_stream(options.seed, Stream::growth, l, static_cast<std::uint64_t>(moment.step));
      if (grown[l].size() < count[l])
        choose_at_random(taken[l], count[l] - grown[l].size(), random, grown[l]);
      if (dropped[l] > 0 || !grown[l].empty())
        rebuild(layers[l], keep[l], grown[l], rate, options.optimizer, slices);
    }
  });
  for (const std::vector<Candidate>& candidates : grown)
    evolution.grown += static_cast<Offset>(candidates.size());
  return evolution;
}

}  // namespace filigree
