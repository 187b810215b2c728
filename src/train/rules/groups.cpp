// SPDX-License-Identifier: Apache-2.0
#include "train/rules/groups.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/evolve.h"
#include "train/rules/budget.h"
#include "train/rules/prune.h"
#include "train/topology.h"

namespace filigree::internal {

namespace {

// Per group: how many connections it has, and the sum of their squares.
struct Sizes {
  std::vector<std::uint32_t> count;
  std::vector<double> squares;

  Sizes(const std::vector<TrainLayer>& layers, const Grouping& grouping)
      : count(grouping.count()), squares(grouping.count()) {
    for (std::size_t l = 0; l < layers.size(); ++l)
      for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
        const auto [first, second] = grouping.of(l, output, input);
        for (const std::uint32_t g : {first, second}) {
          if (g == Grouping::kNone) continue;
          ++count[g];
          squares[g] += static_cast<double>(layers[l].value[e]) * layers[l].value[e];
        }
      });
  }
};

// Neurons or blocks are what goes as a whole.
bool whole_neurons(const TrainOptions& options) {
  switch (options.pruning.structure) {
    case Structure::neurons:
      return true;
    case Structure::blocks:
      return false;
    case Structure::none:
    case Structure::n_of_m:
      break;
  }
  fail("a structure of {} has no groups", word(options.pruning.structure));
}

// What a group takes: as its costs say, or as many as its connections are.
class Costs {
 public:
  explicit Costs(const TrainOptions& options) : neurons_(whole_neurons(options)) {
    if (options.pruning.connection_cost == 0) return;
    connection_ = options.pruning.connection_cost;
    neuron_ = options.pruning.neuron_cost;
    input_ = options.pruning.input_cost;
  }
  double group(std::size_t connections, std::size_t level) const {
    const double own = !neurons_ ? 0 : level > 0 ? neuron_ : input_;
    return connection_ * connections + own;
  }
  double network(const TrainOptions& options) const {
    double sum = 0;
    for (const Offset connections : connections_per_layer(options)) sum += connection_ * connections;
    for (std::size_t l = 1; l < options.network.neurons.size(); ++l)
      sum += neuron_ * options.network.neurons[l];
    return sum + input_ * options.network.neurons.front();
  }

 private:
  bool neurons_;
  double connection_ = 1, neuron_ = 0, input_ = 0;
};

// Calls visit(layer, entries) for the connections of each output among `m` inputs in a row.
template <typename Visit>
void for_each_stretch(const TrainLayer& layer, std::size_t m, const Visit& visit) {
  // By output and stretch, whichever way the layer is stored.
  const std::size_t across = (layer.inputs + m - 1) / m;
  std::vector<std::uint32_t> end(across * layer.outputs + 1, 0);
  const auto place = [&](std::size_t output, std::size_t input) { return output * across + input / m; };
  for_each_connection(layer, [&](std::size_t o, std::size_t i, std::size_t) { ++end[place(o, i) + 1]; });
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<std::uint32_t> entries(layer.connections());
  for_each_connection(layer, [&](std::size_t o, std::size_t i, std::size_t e) {
    entries[end[place(o, i)]++] = static_cast<std::uint32_t>(e);
  });
  std::uint32_t begin = 0;
  for (std::size_t s = 0; s + 1 < end.size(); begin = end[s++])
    if (end[s] > begin) visit(std::span(entries).subspan(begin, end[s] - begin));
}

// The largest weights first; equal ones in the order of their places.
void sort_by_size(const TrainLayer& layer, std::span<std::uint32_t> entries) {
  std::sort(entries.begin(), entries.end(), [&](std::uint32_t a, std::uint32_t b) {
    const float x = std::fabs(layer.value[a]), y = std::fabs(layer.value[b]);
    return x != y ? x > y : a < b;
  });
}

// How many of m may stay at this moment.
std::size_t allowed_of_m(const TrainOptions& options, const Moment& moment) {
  const double spare = options.pruning.group_size - options.pruning.group_kept;
  return static_cast<std::size_t>(options.pruning.group_kept) +
         static_cast<std::size_t>(std::floor(not_yet_pruned(spare, options, moment)));
}

void keep_n_of_m(const std::vector<TrainLayer>& layers, const TrainOptions& options, const Moment& moment,
                 std::vector<Keep>& keep) {
  const std::size_t allowed = allowed_of_m(options, moment);
  for (std::size_t l = 0; l < layers.size(); ++l)
    for_each_stretch(layers[l], options.pruning.group_size, [&](std::span<std::uint32_t> entries) {
      sort_by_size(layers[l], entries);
      for (std::size_t i = allowed; i < entries.size(); ++i) keep[l][entries[i]] = 0;
    });
}

struct Member {
  std::uint32_t layer, entry;
};

// The members of each group, one after the other; those of group g end at end[g].
struct Members {
  std::vector<std::uint32_t> end;
  std::vector<Member> list;

  Members(const std::vector<TrainLayer>& layers, const Grouping& grouping, const Sizes& sizes)
      : end(grouping.count() + 1, 0) {
    std::partial_sum(sizes.count.begin(), sizes.count.end(), end.begin() + 1);
    list.resize(end.back());
    for (std::size_t l = 0; l < layers.size(); ++l)
      for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
        const auto [first, second] = grouping.of(l, output, input);
        for (const std::uint32_t g : {first, second})
          if (g != Grouping::kNone)
            list[end[g]++] = {static_cast<std::uint32_t>(l), static_cast<std::uint32_t>(e)};
      });
  }
  std::span<const Member> of(std::uint32_t g) const {
    const std::uint32_t begin = g == 0 ? 0 : end[g - 1];
    return std::span(list).subspan(begin, end[g] - begin);
  }
};

void drop_smallest_groups(const std::vector<TrainLayer>& layers, const TrainOptions& options,
                          std::size_t wanted, std::vector<Keep>& keep) {
  const Grouping grouping(layers, options);
  const Sizes sizes(layers, grouping);
  const Members members(layers, grouping, sizes);
  std::vector<std::uint32_t> order;
  std::vector<std::size_t> left(layers.size() + 1, 0);  // groups of each level
  for (std::uint32_t g = 0; g < grouping.count(); ++g) {
    if (sizes.count[g] == 0) continue;
    order.push_back(g);
    ++left[grouping.level(g)];
  }
  const Costs costs(options);
  const auto worth = [&](std::uint32_t g) {
    return sizes.squares[g] / costs.group(sizes.count[g], grouping.level(g));
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return worth(a) < worth(b); });
  std::size_t connections = 0;
  for (const Keep& k : keep) connections += count_kept(k);
  const std::size_t classes = layers.back().outputs;
  const std::size_t side = options.pruning.group_size;
  const std::size_t least = whole_neurons(options) ? classes : (classes + side - 1) / side;
  for (const std::uint32_t g : order) {
    if (connections <= wanted && sizes.squares[g] > 0) return;
    std::size_t& here = left[grouping.level(g)];
    if (here <= least) continue;
    --here;
    for (const auto& [l, e] : members.of(g)) {
      connections -= keep[l][e];
      keep[l][e] = 0;
    }
  }
}

}  // namespace

Grouping::Grouping(const std::vector<TrainLayer>& layers, const TrainOptions& options)
    : neurons_(whole_neurons(options)),
      size_(static_cast<std::size_t>(options.pruning.group_size)),
      layers_(layers.size()) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t inputs = layers[l].inputs;
    const std::size_t outputs = layers[l].outputs;
    first_.push_back(static_cast<std::uint32_t>(level_.size()));
    across_.push_back((inputs + size_ - 1) / size_);
    level_.resize(level_.size() + (neurons_ ? inputs : across_[l] * ((outputs + size_ - 1) / size_)),
                  static_cast<std::uint32_t>(l));
  }
}

Grouping::Pair Grouping::of(std::size_t l, std::size_t output, std::size_t input) const {
  if (!neurons_)
    return {first_[l] + static_cast<std::uint32_t>(output / size_ * across_[l] + input / size_), kNone};
  return {first_[l] + static_cast<std::uint32_t>(input),
          l + 1 < layers_ ? first_[l + 1] + static_cast<std::uint32_t>(output) : kNone};
}

void shrink_groups(std::vector<TrainLayer>& layers, const TrainOptions& options, double step) {
  const double pull = step * options.pruning.shrink;
  if (options.pruning.structure == Structure::n_of_m) {
    for (TrainLayer& layer : layers)
      for_each_stretch(layer, options.pruning.group_size, [&](std::span<std::uint32_t> entries) {
        sort_by_size(layer, entries);
        for (std::size_t i = options.pruning.group_kept; i < entries.size(); ++i) {
          float& w = layer.value[entries[i]];
          w = std::copysign(std::max(0.0f, std::fabs(w) - static_cast<float>(pull)), w);
        }
      });
  } else {
    const Grouping grouping(layers, options);
    const Sizes sizes(layers, grouping);
    const Costs costs(options);
    const double per_cost = step * options.pruning.time_weight / costs.network(options);
    std::vector<float> factor(grouping.count(), 1.0f);
    for (std::uint32_t g = 0; g < factor.size(); ++g)
      if (sizes.count[g] > 0) {
        const double norm = std::sqrt(sizes.squares[g]), less = pull * std::sqrt(sizes.count[g]);
        const double rest = norm - less;
        const double time = per_cost * costs.group(sizes.count[g], grouping.level(g));
        factor[g] = rest > 0 && rest * rest > 2 * time ? static_cast<float>(rest / norm) : 0.0f;
      }
    for (std::size_t l = 0; l < layers.size(); ++l)
      for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
        const auto [first, second] = grouping.of(l, output, input);
        layers[l].value[e] *= factor[first] * (second == Grouping::kNone ? 1.0f : factor[second]);
      });
  }
  for (TrainLayer& layer : layers) refresh_transposed(layer);
}

namespace {

class GroupRule final : public PruningRule {
 public:
  // Several steps' pull at once: finding the groups costs as much as a step of a very sparse network.
  std::int64_t pulls_every(const TrainOptions& options) const override {
    return options.pruning.shrink + options.pruning.time_weight > 0 ? 8 : 0;
  }
  void pull(std::vector<TrainLayer>& layers, const TrainOptions& options, double step) const override {
    shrink_groups(layers, options, step);
  }

  Drop drop(std::vector<TrainLayer>& layers, const RuleContext& context,
            std::vector<Keep>& keep) const override {
    const TrainOptions& options = context.options;
    if (options.pruning.structure == Structure::n_of_m) {
      keep_n_of_m(layers, options, context.moment, keep);
    } else {
      const std::vector<std::size_t> wanted = kept_connections(layers, options, context.moment);
      drop_smallest_groups(layers, options, std::accumulate(wanted.begin(), wanted.end(), std::size_t{0}),
                           keep);
    }
    return {};
  }
};

}  // namespace

const EvolutionRule& group_rule() {
  static const GroupRule rule;
  return rule;
}

}  // namespace filigree::internal
