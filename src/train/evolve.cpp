#include "train/evolve.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/parallel.h"
#include "kernels/activation.h"
#include "train/growth.h"
#include "train/topology.h"

namespace filigree {

namespace {

using Keep = std::vector<std::uint8_t>;  // per connection: stays

std::size_t count_kept(const Keep& keep) {
  return static_cast<std::size_t>(std::count(keep.begin(), keep.end(), std::uint8_t{1}));
}

// Calls visit(output, input, entry) for each connection.
template <typename Visit>
void for_each_connection(const TrainLayer& layer, const Visit& visit) {
  for (std::size_t r = 0; r < static_cast<std::size_t>(layer.pattern.rows); ++r)
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      layer.by_input ? visit(std::size_t{layer.pattern.column[e]}, r, e)
                     : visit(r, std::size_t{layer.pattern.column[e]}, e);
}

// Which hidden neurons have an input, and which a reader, counting connections that stay. Index [l][n]:
// neuron n of the outputs of layer l.
struct Ends {
  std::vector<std::vector<std::uint8_t>> fed, read;

  Ends(const std::vector<TrainLayer>& layers, const std::vector<Keep>& keep) {
    for (const TrainLayer& layer : layers) {
      fed.emplace_back(static_cast<std::size_t>(layer.outputs), std::uint8_t{layer.dense});
      read.emplace_back(static_cast<std::size_t>(layer.outputs), std::uint8_t{layer.dense});
    }
    std::ranges::fill(read.back(), std::uint8_t{1});
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (layers[l].dense) continue;
      for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
        if (!keep.empty() && !keep[l][e]) return;
        fed[l][output] = 1;
        if (l > 0) read[l - 1][input] = 1;
      });
    }
  }
};

// Marks the connections of hidden neurons whose cost was zero in every recorded sample: relus that never
// fired. No gradient reaches them, so they would stay as they are for ever (Ertl, section 5.1).
void mark_costless(const std::vector<TrainLayer>& layers, const Record& record, std::vector<Keep>& keep) {
  std::vector<std::uint8_t> below, here;  // per neuron: without cost
  for (std::size_t l = 0; l < layers.size(); ++l, std::swap(below, here)) {
    here.assign(static_cast<std::size_t>(layers[l].outputs), 0);
    for (std::size_t o = 0; l + 1 < layers.size() && o < here.size(); ++o)
      here[o] = std::ranges::all_of(std::span(record.layers[l].delta).subspan(o * record.width, record.width),
                                    [](float d) { return d == 0; });
    if (layers[l].connections() == layers[l].capacity()) continue;  // what is freed would grow there again
    for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
      if (here[output] || (l > 0 && below[input])) keep[l][e] = 0;
    });
  }
}

// Marks the connections of neurons that have no input or no reader (Ertl, figure 11), and what only led to
// those. A neuron without input is constant: what it gave its readers goes to their biases.
void mark_lost(std::vector<TrainLayer>& layers, std::vector<Keep>& keep) {
  for (bool changed = true; changed;) {
    changed = false;
    const Ends ends(layers, keep);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      TrainLayer& layer = layers[l];
      for_each_connection(layer, [&](std::size_t output, std::size_t input, std::size_t e) {
        if (!keep[l][e]) return;
        const bool constant = l > 0 && !ends.fed[l - 1][input];
        if (!constant && ends.read[l][output]) return;
        if (constant) {
          const TrainLayer& below = layers[l - 1];
          layer.bias[output] +=
              layer.value[e] * static_cast<float>(activation_reference(below.activation, below.slope, kNoCap,
                                                                       below.bias[input]));
        }
        keep[l][e] = 0;
        changed = true;
      });
    }
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
  for (const Keep& k : keep) left.push_back(count_kept(k));
  for (std::size_t i = 0; i < count; ++i) {
    const auto [magnitude, l, e] = entries[i];
    if (10 * left[l] <= keep[l].size()) continue;
    keep[l][e] = 0;
    --left[l];
  }
}

Pattern kept_pattern(const TrainLayer& layer, const Keep& keep) {
  Pattern kept;
  kept.rows = layer.pattern.rows;
  kept.cols = layer.pattern.cols;
  for (std::size_t r = 0; r < static_cast<std::size_t>(kept.rows); ++r) {
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      if (keep[e]) kept.column.push_back(layer.pattern.column[e]);
    kept.row_begin.push_back(static_cast<std::uint32_t>(kept.column.size()));
  }
  return kept;
}

// By row and column. Rows are short, so counting them first leaves little to sort.
std::vector<Candidate> in_order_of_places(const std::vector<Candidate>& candidates, Index rows) {
  std::vector<std::uint32_t> end(static_cast<std::size_t>(rows) + 1, 0);
  for (const Candidate& c : candidates) ++end[c.row + 1];
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<Candidate> ordered(candidates.size());
  for (const Candidate& c : candidates) ordered[end[c.row]++] = c;
  std::uint32_t begin = 0;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); begin = end[r++])
    std::sort(ordered.begin() + begin, ordered.begin() + end[r],
              [](const Candidate& a, const Candidate& b) { return a.column < b.column; });
  return ordered;
}

// The kept connections with their values and state, and the new ones among them in their order.
void rebuild(TrainLayer& layer, const TrainOptions& options, const Keep& keep,
             const std::vector<Candidate>& candidates, double lr, std::size_t slices) {
  const std::vector<Candidate> grown = in_order_of_places(candidates, layer.pattern.rows);
  Pattern pattern;
  pattern.rows = layer.pattern.rows;
  pattern.cols = layer.pattern.cols;
  const std::size_t size = count_kept(keep) + grown.size();
  pattern.column.reserve(size);
  std::vector<float> value, first, second;
  value.reserve(size);
  first.reserve(layer.first.empty() ? 0 : size);
  second.reserve(layer.second.empty() ? 0 : size);
  auto next = grown.begin();
  const auto append = [&](std::uint16_t column, float w, float m, float v) {
    pattern.column.push_back(column);
    value.push_back(w);
    if (!layer.first.empty()) first.push_back(m);
    if (!layer.second.empty()) second.push_back(v);
  };
  const auto append_grown = [&](std::uint32_t row, std::uint32_t before) {
    for (; next != grown.end() && next->row == row && next->column < before; ++next) {
      const double weight = options.evolve == Evolve::ertl ? -lr * next->gradient : 0.0;
      append(static_cast<std::uint16_t>(next->column), static_cast<float>(weight), 0, 0);
    }
  };
  for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(pattern.rows); ++r) {
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e) {
      if (!keep[e]) continue;
      append_grown(r, layer.pattern.column[e]);
      append(layer.pattern.column[e], layer.value[e], layer.first.empty() ? 0 : layer.first[e],
             layer.second.empty() ? 0 : layer.second[e]);
    }
    append_grown(r, ~0u);
    pattern.row_begin.push_back(static_cast<std::uint32_t>(pattern.column.size()));
  }
  index_rows(pattern);
  layer.pattern = std::move(pattern);
  layer.value = std::move(value);
  layer.first = std::move(first);
  layer.second = std::move(second);
  if (layer.transposed.rows > 0) {
    layer.transposed = transpose(layer.pattern);
    layer.transposed_value.resize(layer.transposed.nnz());
  }
  resize_state(layer, options.optimizer, slices);
  refresh_transposed(layer);
}

// Up to `count` new connections of one layer.
std::vector<Candidate> choose(const TrainLayer& layer, const Record::LayerRecord* record,
                              const Record* samples, const TrainOptions& options, const DataRows& data,
                              const Pattern& taken, std::size_t count, std::size_t dropped) {
  if (options.evolve == Evolve::set) return {};
  std::vector<std::uint32_t> outputs;
  if (options.evolve == Evolve::ertl) {
    const double k = std::ceil(std::sqrt(static_cast<double>(std::max<std::size_t>(1, dropped))));
    outputs = costliest_neurons(layer, *record, samples->width, static_cast<std::size_t>(k));
  }
  return largest_gradients(layer, *record, *samples, data, taken, count, outputs);
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

Offset wanted_connections(const TrainOptions& options, const Moment& moment) {
  double all = 0;
  for (std::size_t l = 0; l + 1 < options.network.size(); ++l)
    all += static_cast<double>(options.network[l]) * options.network[l + 1];
  const std::vector<Offset> start = connections_per_layer(options);
  const auto first = static_cast<double>(std::accumulate(start.begin(), start.end(), Offset{0}));
  const double last = options.final_sparsity >= 0 ? all * (1 - options.final_sparsity) : first;
  // The end is reached by the last evolution, not at some step after it.
  const std::int64_t evolutions = (moment.last_step - 1) / options.update_every;
  const double done = evolutions > 0
                          ? std::min(1.0, static_cast<double>(moment.step) /
                                              static_cast<double>(evolutions * options.update_every))
                          : 1;
  return std::llround(first + (last - first) * done);
}

Index count_dead(const std::vector<TrainLayer>& layers) {
  const Ends ends(layers, {});
  Index dead = 0;
  for (std::size_t l = 0; l + 1 < layers.size(); ++l)
    for (std::size_t n = 0; n < ends.fed[l].size(); ++n) dead += !ends.fed[l][n] || !ends.read[l][n];
  return dead;
}

Evolution evolve(std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 const Record* record, const DataRows& data, std::size_t slices) {
  const double fraction = drop_fraction(options, moment);
  const bool global = options.redistribute == Redistribute::global;
  std::vector<Keep> keep;
  std::size_t before = 0;
  for (const TrainLayer& layer : layers) {
    keep.emplace_back(layer.connections(), std::uint8_t{1});
    before += layer.connections();
  }
  if (options.free_lost && options.evolve == Evolve::ertl) mark_costless(layers, *record, keep);
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
    grown[l] = choose(layers[l], record != nullptr ? &record->layers[l] : nullptr, record, options, data,
                      taken[l], most, dropped[l]);
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
  parallel_for(layers.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t l = first; l < last; ++l) {
      Random random = random_stream(options.seed, Stream::growth, l, static_cast<std::uint64_t>(moment.step));
      if (grown[l].size() < count[l])
        choose_at_random(taken[l], count[l] - grown[l].size(), random, grown[l]);
      if (dropped[l] > 0 || !grown[l].empty())
        rebuild(layers[l], options, keep[l], grown[l], moment.lr, slices);
    }
  });
  for (const std::vector<Candidate>& candidates : grown)
    evolution.grown += static_cast<Offset>(candidates.size());
  return evolution;
}

}  // namespace filigree
