// SPDX-License-Identifier: Apache-2.0
#include "compile/compile.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/grain.h"
#include "sparse/csc.h"

namespace filigree {

namespace {

constexpr double kRounding = std::numeric_limits<float>::epsilon() / 2;  // of one float operation, relative

Offset count_connections(const std::vector<Layer>& layers) {
  Offset sum = 0;
  for (const Layer& layer : layers) sum += layer.weights.nnz();
  return sum;
}

// Keeps the columns that `place` maps to 0 or above and renumbers them; rows that `keep_row` marks.
CsrMatrix select(const CsrMatrix& m, const std::vector<char>& keep_row, const std::vector<Index>& place,
                 Index cols) {
  CsrMatrix out;
  out.cols = cols;
  const CsrView view = m.view();
  for (Index r = 0; r < m.rows; ++r) {
    if (!keep_row[static_cast<std::size_t>(r)]) continue;
    const auto columns = view.row_columns(r);
    const auto values = view.row_values(r);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      const Index to = place[static_cast<std::size_t>(columns[e])];
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
    if (to >= 0) to = then[static_cast<std::size_t>(to)];
}

}  // namespace

Offset CompiledNetwork::connections() const {
  return count_connections(layers);
}

LayerFacts facts_of(const Layer& layer, float input_cap) {
  LayerFacts facts;
  facts.input_cap = input_cap;
  facts.zero_stays_zero = zero_stays_zero(layer);
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
    const double least =
        sum * static_cast<double>(input_cap) * (1 - (static_cast<double>(values.size()) + 4) * kRounding);
    saturates = saturates && least + static_cast<double>(layer.bias[static_cast<std::size_t>(r)]) >
                                 static_cast<double>(layer.activation.cap) * (1 + 4 * kRounding);
  }
  facts.saturation_stays = saturates && facts.nonnegative;
  return facts;
}

CompiledNetwork compile_network(const LayerSource& source, const Observer& observer,
                                const LayerVisitor& visitor) {
  if (source.mixes())
    fail("{}: the exact passes are for chains of layers, but a layer is a mixture of experts",
         source.describe());
  CompiledNetwork network;
  network.input_of.resize(static_cast<std::size_t>(source.inputs()));
  std::iota(network.input_of.begin(), network.input_of.end(), 0);

  MergeSweep sweep(source.inputs());
  Offset zeros = 0;  // connections that are stored, but carry nothing
  const Index layers = source.layers();
  const auto batch = static_cast<Index>(4 * threads());  // layers in memory at a time
  std::vector<Layer> original(static_cast<std::size_t>(batch));
  std::vector<DistinctRows> distinct(static_cast<std::size_t>(batch));
  DistinctRows before_batch;
  std::vector<LayerFacts> facts(static_cast<std::size_t>(batch));
  float cap_before = std::numeric_limits<float>::infinity();
  for (Index l = 0; l < layers; l += batch) {
    observer.check_stop();
    observer.report("compile", l, layers, "layers");
    const auto count = static_cast<std::size_t>(std::min(batch, layers - l));
    // Small networks are compiled sooner than threads start.
    original[0] = source.layer(l);
    const std::size_t grain = task_items(count, count * static_cast<std::size_t>(original[0].weights.nnz()));
    parallel_for(count, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        if (i > 0) original[i] = source.layer(l + static_cast<Index>(i));
        distinct[i] = find_distinct_rows(original[i]);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      const float cap = original[i].activation.saturates() ? original[i].activation.cap : kNoCap;
      facts[i].input_cap = cap_before;
      cap_before = cap;
    }
    parallel_for(count, grain, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        facts[i] = facts_of(original[i], facts[i].input_cap);
        const DistinctRows* before = i > 0 ? &distinct[i - 1] : l > 0 ? &before_batch : nullptr;
        if (visitor) visitor(l + static_cast<Index>(i), original[i], facts[i], distinct[i], before);
      }
    });
    for (std::size_t i = 0; i < count; ++i) {
      network.original_connections += original[i].weights.nnz();
      zeros += std::ranges::count(original[i].weights.value, 0.0f);
      // A constant neuron is not at the cap, whatever the neurons that remain are.
      if (std::ranges::any_of(sweep.neuron(), [](Index n) { return n < 0; }))
        facts[i].saturation_stays = false;
      network.layers.push_back(sweep.step(original[i], distinct[i]));
      network.facts.push_back(facts[i]);
    }
    before_batch = std::move(distinct[count - 1]);
  }
  observer.report("compile", layers, layers, "layers");
  network.output_of = sweep.neuron();
  network.output_constant = sweep.constant();
  network.biases_changed = sweep.biases_changed();
  const Offset removed = network.original_connections - zeros - network.connections();
  network.passes.push_back({"remove weights of zero", 0, zeros});
  network.passes.push_back({"merge duplicate neurons", sweep.merged_neurons(), removed});
  network.passes.push_back({"fold constant neurons", sweep.constant_neurons(), 0});
  network.passes.push_back(drop_unread_neurons(network));
  network.passes.push_back(merge_alike_inputs(network));
  return network;
}

PassReport drop_unread_neurons(CompiledNetwork& network) {
  PassReport report{"drop unread neurons", 0, network.connections()};
  const std::size_t depth = network.layers.size();
  std::vector<char> keep(static_cast<std::size_t>(network.layers.back().outputs()), 1);
  for (std::size_t l = depth; l-- > 0;) {
    Layer& layer = network.layers[l];
    const CsrView w = layer.weights.view();
    std::vector<char> read(static_cast<std::size_t>(layer.inputs()), 0);
    for (Index r = 0; r < layer.outputs(); ++r)
      if (keep[static_cast<std::size_t>(r)])
        for (const Index c : w.row_columns(r)) read[static_cast<std::size_t>(c)] = 1;
    const bool all_kept = std::ranges::all_of(keep, [](char k) { return k != 0; });
    const bool all_read = std::ranges::all_of(read, [](char k) { return k != 0; });
    if (!all_kept || !all_read) {
      Index inputs = 0;
      const auto place = renumber(read, inputs);
      report.neurons += std::ranges::count(keep, 0);
      std::vector<float> bias;
      for (std::size_t r = 0; r < keep.size(); ++r)
        if (keep[r]) bias.push_back(layer.bias[r]);
      layer.weights = select(layer.weights, keep, place, inputs);
      layer.bias = std::move(bias);
      if (l == 0) compose(network.input_of, place);
    }
    keep = std::move(read);
  }
  report.connections -= network.connections();
  return report;
}

PassReport merge_alike_inputs(CompiledNetwork& network) {
  Layer& first = network.layers.front();
  PassReport report{"add up inputs that are read alike", first.inputs(), first.weights.nnz()};
  // A column of the first layer as a row of a layer without biases: equal rows are alike inputs.
  Layer columns;
  columns.weights = transpose(first.weights.view());
  columns.bias.assign(static_cast<std::size_t>(columns.outputs()), 0.0f);
  const DistinctRows distinct = find_distinct_rows(columns);
  std::vector<char> all_rows(static_cast<std::size_t>(first.outputs()), 1);
  std::vector<Index> place(static_cast<std::size_t>(first.inputs()), -1);
  for (std::size_t kind = 0; kind < distinct.first.size(); ++kind)
    place[static_cast<std::size_t>(distinct.first[kind])] = static_cast<Index>(kind);
  first.weights = select(first.weights, all_rows, place, static_cast<Index>(distinct.first.size()));
  compose(network.input_of, distinct.kind_of);
  report.neurons -= first.inputs();
  report.connections -= first.weights.nnz();
  return report;
}

}  // namespace filigree
