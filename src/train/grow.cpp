// SPDX-License-Identifier: Apache-2.0
#include "train/grow.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/connections.h"
#include "train/start.h"

namespace filigree::internal {

namespace {

void append_row(CsrMatrix& to, std::span<const Index> columns, std::span<const float> values) {
  to.column.insert(to.column.end(), columns.begin(), columns.end());
  to.value.insert(to.value.end(), values.begin(), values.end());
  to.row_begin.push_back(to.nnz());
  ++to.rows;
}

// Connections that come with a copy of neuron n of hidden layer l.
Offset cost_of_split(const Layer& layer, Index n, const std::vector<Offset>& readers) {
  return static_cast<Offset>(layer.weights.view().row_columns(n).size()) + readers[n];
}

}  // namespace

std::vector<Layer> widened(std::vector<Layer> layers, std::size_t l, const std::vector<Index>& split,
                           Random& random) {
  Layer& layer = layers[l];
  const Index old_width = layer.outputs();
  const CsrMatrix before = layer.weights;
  for (const Index n : split) {
    append_row(layer.weights, before.view().row_columns(n), before.view().row_values(n));
    layer.bias.push_back(layer.bias[n]);
  }
  // What each neuron passes on: its share, and those of its copies.
  std::vector<double> share(layer.outputs(), 1.0);
  std::vector<std::vector<Index>> copies(old_width);
  for (std::size_t i = 0; i < split.size(); ++i) {
    const double part = random.uniform(0.3, 0.7);
    const std::size_t from = split[i];
    const Index copy = old_width + static_cast<Index>(i);
    share[copy] = share[from] * part;
    share[from] *= 1 - part;
    copies[from].push_back(copy);
  }
  CsrMatrix next;
  next.cols = layer.outputs();
  const CsrView readers = layers[l + 1].weights.view();
  for (Index r = 0; r < readers.rows; ++r) {
    std::vector<std::pair<Index, float>> row;
    for (std::size_t e = 0; e < readers.row_columns(r).size(); ++e) {
      const Index from = readers.row_columns(r)[e];
      const double w = readers.row_values(r)[e];
      row.emplace_back(from, static_cast<float>(w * share[from]));
      for (const Index copy : copies[from]) row.emplace_back(copy, static_cast<float>(w * share[copy]));
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      next.column.push_back(column);
      next.value.push_back(value);
    }
    next.row_begin.push_back(next.nnz());
    ++next.rows;
  }
  layers[l + 1].weights = std::move(next);
  return layers;
}

std::vector<Layer> deepened(std::vector<Layer> layers, std::size_t l) {
  const Layer& before = layers[l];
  if (!before.activation.is(Activation::relu))
    fail("a layer behind {} neurons would change what the network computes; behind relu it does not",
         activation_name(before.activation.kind));
  Layer same;
  same.weights.rows = same.weights.cols = before.outputs();
  for (Index n = 0; n < before.outputs(); ++n) {
    same.weights.column.push_back(n);
    same.weights.value.push_back(1);
    same.weights.row_begin.push_back(n + 1);
  }
  same.bias.assign(before.outputs(), 0.0f);
  layers.insert(layers.begin() + static_cast<std::ptrdiff_t>(l) + 1, std::move(same));
  return layers;
}

std::vector<std::vector<double>> neuron_gradients(const Network& network, const Dataset& data,
                                                  const TrainOptions& options) {
  Training trainer(data, start_from(network, data, options));
  trainer.measure_gradients();
  const std::vector<TrainLayer>& layers = trainer.state().layers;
  std::vector<std::vector<double>> squares(layers.size() - 1);
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) squares[l].resize(layers[l].outputs);
  for (std::size_t l = 0; l < layers.size(); ++l)
    for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
      const double square = double{layers[l].gradient[e]} * double{layers[l].gradient[e]};
      if (l + 1 < layers.size()) squares[l][output] += square;
      if (l > 0) squares[l - 1][input] += square;
    });
  return squares;
}

std::vector<Layer> with_more_neurons(std::vector<Layer> layers,
                                     const std::vector<std::vector<double>>& gradients, double growth,
                                     Offset most, Random& random) {
  for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
    const Layer& layer = layers[l];
    const std::size_t wanted = std::llround(growth * layer.outputs());
    std::vector<Index> order(layer.outputs());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return gradients[l][a] > gradients[l][b]; });
    std::vector<Offset> readers(order.size(), 0);
    for (const Index c : layers[l + 1].weights.column) ++readers[c];
    std::vector<Index> split;
    Offset connections = connections_of(layers);
    for (std::size_t i = 0; i < wanted; ++i) {
      const Index n = order[i % order.size()];
      const Offset cost = cost_of_split(layer, n, readers);
      if (connections + cost > most) break;
      connections += cost;
      split.push_back(n);
    }
    layers = widened(std::move(layers), l, split, random);
  }
  return layers;
}

}  // namespace filigree::internal
