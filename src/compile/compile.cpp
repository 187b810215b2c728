// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "filigree/sparse.h"
#include "kernels/grain.h"
namespace filigree::internal {

namespace {

constexpr double kRounding = std::numeric_limits<float>::epsilon() / 2;  // of one float operation, relative

// Keeps the columns that `place` maps to 0 or above and renumbers them; rows that `keep_row` marks.
CsrMatrix select(const CsrMatrix& m, const std::vector<char>& keep_row, const std::vector<Index>& place,
                 Index cols) {
  CsrMatrix out;
  out.cols = cols;
  const CsrView view = m.view();
  for (Index r = 0; r < m.rows; ++r) {
    if (!keep_row[r]) continue;
    const auto columns = view.row_columns(r);
    const auto values = view.row_values(r);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      const Index to = place[columns[e]];
      if (to < 0) continue;
      out.column.push_back(to);
      out.value.push_back(values[e]);
    }
    out.row_begin.push_back(out.nnz());
    ++out.rows;
  }
  return out;
}

// New numbers 0, 1, … for what is kept, -1 for the rest.
std::vector<Index> renumber(const std::vector<char>& keep, Index& count) {
  std::vector<Index> place(keep.size(), -1);
  count = 0;
  for (std::size_t i = 0; i < keep.size(); ++i)
    if (keep[i]) place[i] = count++;
  return place;
}

void compose(std::vector<Index>& map, const std::vector<Index>& then) {
  for (Index& to : map)
    if (to >= 0) to = then[to];
}

// The maps of a network that was compiled before, followed by those of this compilation.
PortMap compose(const PortMap& outer, PortMap inner) {
  if (outer.empty()) return inner;
  PortMap both = outer;
  compose(both.input_of, inner.input_of);
  for (std::size_t o = 0; o < both.output_of.size(); ++o) {
    if (both.output_of[o] < 0) continue;
    const std::size_t at = both.output_of[o];
    both.output_constant[o] = inner.output_constant[at];
    both.output_of[o] = inner.output_of[at];
  }
  return both;
}

}  // namespace

LayerFacts facts_of(const Layer& layer, float input_cap) {
  LayerFacts facts;
  facts.input_cap = input_cap;
  facts.zero_stays_zero = zero_stays_zero(layer);
  facts.non_decreasing = layer.activation.non_decreasing();
  constexpr float kLeast = 1e-30f;  // far above the subnormal numbers, whose rounding is not relative
  facts.biases_negative = std::ranges::all_of(layer.bias, [](float b) { return b <= -kLeast; });
  bool saturates = layer.outputs() > 0 && layer.activation.saturates() && std::isfinite(input_cap);
  const CsrView w = layer.weights.view();
  for (Index r = 0; r < layer.outputs(); ++r) {
    const auto values = w.row_values(r);
    facts.fan_in = std::max(facts.fan_in, static_cast<Index>(values.size()));
    double sum = 0;
    for (const float v : values) {
      facts.nonnegative = facts.nonnegative && v >= 0;
      sum += v;
    }
    const double least = sum * input_cap * (1 - (static_cast<double>(values.size()) + 4) * kRounding);
    saturates = saturates && least + layer.bias[r] > layer.activation.cap * (1 + 4 * kRounding);
  }
  facts.saturation_stays = saturates && facts.nonnegative;
  return facts;
}

namespace {

// Passes 1 and 2, while the layers stream by.
class Streaming {
 public:
  Streaming(const LayerSource& source, const Observer& observer, const LayerVisitor& visitor)
      : source_(source), observer_(observer), visitor_(visitor), sweep_(source.inputs()) {}

  Compiled operator()(const Network& network) {
    const Index layers = source_.layers();
    const Index batch = 4 * threads();  // layers in memory at a time
    for (Index l = 0; l < layers; l += batch) {
      observer_.check_stop();
      observer_.report("compile", l, layers, "layers");
      step(l, std::min(batch, layers - l));
    }
    observer_.report("compile", layers, layers, "layers");
    const Offset folded = sweep_.constant_connections();
    const Offset removed = before_ - zeros_ - folded - connections_of(layers_);
    Network::Parts parts = network.parts();
    parts.exits.clear();
    PortMap ports{std::vector<Index>(source_.inputs()), sweep_.neuron(), sweep_.constant()};
    std::iota(ports.input_of.begin(), ports.input_of.end(), 0);
    parts.ports = compose(network.parts().ports, std::move(ports));
    return {Network(parts.with(std::move(layers_), network.describe() + ", compiled")),
            std::move(facts_),
            {{"remove weights of zero", 0, zeros_},
             {"merge duplicate neurons", sweep_.merged_neurons(), removed},
             {"fold constant neurons", sweep_.constant_neurons(), folded}},
            before_,
            sweep_.biases_changed()};
  }

 private:
  void step(Index l, std::size_t count) {
    std::vector<LayerPointer> original(count);
    std::vector<DistinctRows> distinct(count);
    std::vector<LayerFacts> facts(count);
    // Small networks are compiled sooner than threads start.
    original[0] = source_.layer(l);
    const std::size_t grain = task_items(count, count * original[0]->weights.nnz());
    parallel_for(count, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (i > 0) original[i] = source_.layer(l + static_cast<Index>(i));
        distinct[i] = find_distinct_rows(*original[i]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      const ActivationFunction& activation = original[i]->activation;
      facts[i].input_cap = std::exchange(cap_before_, activation.saturates() ? activation.cap : kNoCap);
    }
    parallel_for(count, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        facts[i] = facts_of(*original[i], facts[i].input_cap);
        const DistinctRows* before = i > 0 ? &distinct[i - 1] : l > 0 ? &distinct_before_ : nullptr;
        if (visitor_) visitor_(l + static_cast<Index>(i), *original[i], facts[i], distinct[i], before);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      before_ += original[i]->weights.nnz();
      zeros_ += std::ranges::count(original[i]->weights.value, 0.0f);
      // A constant neuron is not at the cap, whatever the neurons that remain are.
      if (std::ranges::any_of(sweep_.neuron(), [](Index n) { return n < 0; }))
        facts[i].saturation_stays = false;
      layers_.push_back(std::make_shared<const Layer>(sweep_.step(*original[i], distinct[i])));
      facts_.push_back(facts[i]);
    }
    distinct_before_ = std::move(distinct[count - 1]);
  }

  const LayerSource& source_;
  const Observer& observer_;
  const LayerVisitor& visitor_;
  MergeSweep sweep_;
  std::vector<LayerPointer> layers_;
  std::vector<LayerFacts> facts_;
  DistinctRows distinct_before_;
  float cap_before_ = kNoCap;
  Offset before_ = 0, zeros_ = 0;  // connections; of those, that are stored, but carry nothing
};

}  // namespace

Compiled compile_exactly(const Network& network, const Observer& observer, const LayerVisitor& visitor) {
  const LayerSource& source = *network.parts().layers;
  if (source.mixes())
    fail("{}: the exact passes are for chains of layers, but a layer is a mixture of experts",
         source.describe());
  Compiled compiled = Streaming(source, observer, visitor)(network);
  for (const auto pass : {drop_unread_neurons, merge_alike_inputs}) {
    PassResult result = pass(compiled.network);
    compiled.network = std::move(result.network);
    compiled.passes.push_back(std::move(result.report));
  }
  return compiled;
}

PassResult drop_unread_neurons(const Network& network) {
  std::vector<LayerPointer> layers = all_layers(network);
  Network::Parts parts = network.parts();
  CompilePass report{"drop unread neurons", 0, connections_of(layers)};
  std::vector<char> keep(layers.back()->outputs(), 1);
  for (std::size_t l = layers.size(); l-- > 0;) {
    const Layer& layer = *layers[l];
    const CsrView w = layer.weights.view();
    std::vector<char> read(layer.inputs(), 0);
    for (Index r = 0; r < layer.outputs(); ++r)
      if (keep[r])
        for (const Index c : w.row_columns(r)) read[c] = 1;
    const bool all_kept = std::ranges::all_of(keep, [](char k) { return k != 0; });
    const bool all_read = std::ranges::all_of(read, [](char k) { return k != 0; });
    if (!all_kept || !all_read) {
      Index inputs = 0;
      const auto place = renumber(read, inputs);
      report.neurons_removed += std::ranges::count(keep, 0);
      std::vector<float> bias;
      for (std::size_t r = 0; r < keep.size(); ++r)
        if (keep[r]) bias.push_back(layer.bias[r]);
      if (l == 0) compose(parts.ports.input_of, place);
      layers[l] = std::make_shared<const Layer>(
          Layer{select(layer.weights, keep, place, inputs), std::move(bias), layer.activation});
    }
    keep = std::move(read);
  }
  report.connections_removed -= connections_of(layers);
  return {Network(parts.with(std::move(layers), network.describe())), std::move(report)};
}

PassResult merge_alike_inputs(const Network& network) {
  std::vector<LayerPointer> layers = all_layers(network);
  Network::Parts parts = network.parts();
  const Layer& first = *layers.front();
  CompilePass report{"add up inputs that are read alike", first.inputs(), first.weights.nnz()};
  // A column of the first layer as a row of a layer without biases: equal rows are alike inputs.
  Layer columns;
  columns.weights = transpose(first.weights.view());
  columns.bias.assign(columns.outputs(), 0.0f);
  const DistinctRows distinct = find_distinct_rows(columns);
  const std::vector<char> all_rows(first.outputs(), 1);
  std::vector<Index> place(first.inputs(), -1);
  for (std::size_t kind = 0; kind < distinct.first.size(); ++kind) place[distinct.first[kind]] = kind;
  compose(parts.ports.input_of, distinct.kind_of);
  Layer fewer{select(first.weights, all_rows, place, distinct.first.size()), first.bias, first.activation};
  report.neurons_removed -= fewer.inputs();
  report.connections_removed -= fewer.weights.nnz();
  layers.front() = std::make_shared<const Layer>(std::move(fewer));
  return {Network(parts.with(std::move(layers), network.describe())), std::move(report)};
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

CompileResult compile_network(const Network& network, const Observer& observer) {
  Compiled compiled = compile_exactly(network, observer);
  const Offset after = connections_of(all_layers(compiled.network));
  return {std::move(compiled.network), std::move(compiled.passes), compiled.connections_before, after};
}

}  // namespace filigree
