// SPDX-License-Identifier: Apache-2.0
// For tests of rules: a network with moments and samples, and what a change made of it.
#pragma once

#include <rapidcheck.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "train/evolve.h"
#include "train/test_training.h"
#include "train/topology.h"

namespace filigree::internal {

struct Weight {
  float value = 0, first = 0, second = 0;
  bool operator==(const Weight&) const = default;
};
using Place = std::pair<std::size_t, std::size_t>;  // output, input
using Weights = std::map<Place, Weight>;

inline Weights weights_of(const TrainLayer& layer) {
  Weights weights;
  for (const Link& link : links(layer))
    weights[{link.output, link.input}] = {layer.value[link.entry],
                                          layer.first.empty() ? 0 : layer.first[link.entry],
                                          layer.second.empty() ? 0 : layer.second[link.entry]};
  return weights;
}

inline std::size_t connections(const std::vector<TrainLayer>& layers) {
  std::size_t sum = 0;
  for (const TrainLayer& layer : layers) sum += layer.connections();
  return sum;
}

// A network with moments, and samples to grow by.
struct Evolving {
  static constexpr std::size_t kSlices = 2;
  TrainOptions options;
  DataRows data;
  std::vector<TrainLayer> layers, before;
  std::optional<Record> record;

  Evolving(const TrainOptions& o, bool sparse_inputs, std::uint64_t seed) : options(o) {
    options.run.seed = seed;
    options.learning.optimizer = Optimizer::adam;
    data = random_rows(Kind::sparse, 50, options.network.neurons.front(), 2, seed);
    layers = make_layers(options, sparse_inputs, kSlices);
    Random random(seed);
    for (TrainLayer& layer : layers)
      for (auto* values : {&layer.first, &layer.second, &layer.bias, &layer.bias_first, &layer.bias_second})
        for (float& value : *values) value = random.normal();
    record.emplace(random_record(layers, 40, 50, seed));
    before = layers;
  }
  Evolution run(const Moment& moment) {
    before = layers;
    if (options.evolution.rule == Evolve::set) return evolve(layers, options, moment, nullptr, kSlices);
    const RecordedGrowth growth(layers, *record, data);
    return evolve(layers, options, moment, &growth, kSlices);
  }
};

inline Evolution evolve_on(std::vector<TrainLayer>& layers, const TrainOptions& options, const Record& record,
                           const DataRows& data) {
  const RecordedGrowth growth(layers, record, data);
  return evolve(layers, options, {1, 10, 0.1}, &growth, 1);
}

// One layer before and after: what stayed is what has its value and moments still.
struct Change {
  Weights before, kept, dropped, grown, after;

  Change(const TrainLayer& from, const TrainLayer& to) : before(weights_of(from)), after(weights_of(to)) {
    for (const auto& [place, weight] : before) {
      const auto found = after.find(place);
      (found != after.end() && found->second == weight ? kept : dropped)[place] = weight;
    }
    for (const auto& [place, weight] : after)
      if (!kept.contains(place)) grown[place] = weight;
  }
};

inline std::vector<Change> changes(const Evolving& setup) {
  std::vector<Change> all;
  for (std::size_t l = 0; l < setup.layers.size(); ++l) all.emplace_back(setup.before[l], setup.layers[l]);
  return all;
}

inline TrainOptions any_options() {
  TrainOptions options;
  options.network.neurons = *rc::gen::container<std::vector<Index>>(
      static_cast<std::size_t>(*rc::gen::inRange(2, 5)), rc::gen::inRange<Index>(3, 16));
  options.network.sparsity = *rc::gen::element(0.0, 0.3, 0.6, 0.8);
  options.network.distribution = *rc::gen::element(Distribution::er, Distribution::uniform);
  options.evolution.rule = *rc::gen::element(Evolve::set, Evolve::rigl, Evolve::ertl, Evolve::snfs);
  options.evolution.redistribute = *rc::gen::element(Redistribute::layer, Redistribute::global);
  options.evolution.free_lost = *rc::gen::arbitrary<bool>();
  options.evolution.drop_schedule = DropSchedule::constant;
  options.evolution.drop_fraction = *rc::gen::element(0.0, 0.1, 0.3, 0.7, 1.0);
  options.evolution.threshold = *rc::gen::element(0.01, 0.3, 10.0);
  return options;
}

inline Evolving any_network(const TrainOptions& options) {
  return Evolving(options, *rc::gen::arbitrary<bool>(), *rc::gen::arbitrary<std::uint64_t>());
}

inline Moment any_moment() {
  return {*rc::gen::inRange<std::int64_t>(1, 100), 100, 0.125};
}

}  // namespace filigree::internal
