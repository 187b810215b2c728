// SPDX-License-Identifier: Apache-2.0
#include "infer/reference.h"

#include <algorithm>
#include <limits>

#include "base/parallel.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kReferenceBytes = std::size_t{128} << 20;  // of activations at a time

// Rows under way, neuron-major like everything else.
struct Rows {
  std::size_t count = 0;
  std::vector<Index> id;
  std::vector<double> x;
};

Rows load(const InputRows& inputs, std::span<const Index> rows) {
  Rows loaded{rows.size(), {rows.begin(), rows.end()}, {}};
  loaded.x.assign(inputs.cols * rows.size(), 0.0);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    const auto columns = inputs.row_columns(rows[b]);
    const std::size_t first = inputs.row_begin[rows[b]];
    for (std::size_t e = 0; e < columns.size(); ++e)
      loaded.x[columns[e] * rows.size() + b] =
          inputs.binary() ? 1.0 : static_cast<double>(inputs.value[first + e]);
  }
  return loaded;
}

std::vector<double> apply(const Layer& layer, const Rows& rows, double scale = 1) {
  const CsrView w = layer.weights.view();
  std::vector<double> y(layer.outputs() * rows.count);
  parallel_for(layer.outputs(), 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t j = first; j < last; ++j) {
      double* out = y.data() + j * rows.count;
      const auto columns = w.row_columns(j);
      const auto values = w.row_values(j);
      for (std::size_t e = 0; e < columns.size(); ++e) {
        const double* in = rows.x.data() + columns[e] * rows.count;
        const double weight = values[e];
        for (std::size_t b = 0; b < rows.count; ++b) out[b] += weight * in[b];
      }
      for (std::size_t b = 0; b < rows.count; ++b) {
        out[b] = out[b] * scale + layer.bias[j];
        out[b] = layer.activation(out[b]);
      }
    }
  });
  return y;
}

std::vector<char> nonzero(const Rows& rows) {
  std::vector<char> live(rows.count, 0);
  for (std::size_t i = 0; i < rows.x.size(); ++i)
    if (rows.x[i] != 0) live[i % rows.count] = 1;
  return live;
}

// Drops the rows that are all zero.
void compact(Rows& rows) {
  const std::vector<char> live = nonzero(rows);
  if (std::ranges::all_of(live, [](char l) { return l != 0; })) return;
  std::vector<double> x;
  for (std::size_t i = 0; i < rows.x.size(); ++i)
    if (live[i % rows.count]) x.push_back(rows.x[i]);
  std::vector<Index> id;
  for (std::size_t b = 0; b < rows.count; ++b)
    if (live[b]) id.push_back(rows.id[b]);
  rows = {id.size(), std::move(id), std::move(x)};
}

}  // namespace

std::vector<Index> reference_categories(const LayerSource& network, const InputRows& inputs,
                                        std::span<const Index> rows, const Observer& observer, double scale) {
  const bool drop_zero_rows = network.keeps_zero();
  const Index layers = network.layers();
  const auto batch = std::max<std::size_t>(32, kReferenceBytes / (inputs.cols * sizeof(double)));
  std::vector<Index> live;
  for (std::size_t first = 0; first < rows.size(); first += batch) {
    Rows under_way = load(inputs, rows.subspan(first, std::min(batch, rows.size() - first)));
    for (Index l = 0; l < layers && under_way.count > 0; ++l) {
      observer.check_stop();
      const double share = static_cast<double>(l) / layers * std::min(batch, rows.size() - first);
      observer.report("check", first + share, rows.size(), "rows");
      under_way.x = apply(*network.layer(l), under_way, scale);
      if (drop_zero_rows || l + 1 == layers) compact(under_way);
    }
    live.insert(live.end(), under_way.id.begin(), under_way.id.end());
  }
  observer.report("check", rows.size(), rows.size(), "rows");
  return live;
}

ReferenceVerdict reference_verdict(const LayerSource& network, const InputRows& inputs,
                                   std::span<const Index> rows, const Observer& observer) {
  bool monotone = network.keeps_zero() && nonnegative(inputs);
  Index fan_in = 0;
  for (Index l = 0; monotone && l < network.layers(); ++l) {
    observer.check_stop();
    const LayerPointer layer = network.layer(l);
    monotone = layer->activation.non_decreasing() &&
               std::ranges::all_of(layer->weights.value, [](float v) { return v >= 0; });
    fan_in = std::max(fan_in, largest_fan_in(*layer));
  }
  if (!monotone) {
    const auto live = reference_categories(network, inputs, rows, observer);
    return {live, live};
  }
  const double slack = (static_cast<double>(fan_in) + 4) * (std::numeric_limits<float>::epsilon());
  ReferenceVerdict verdict;
  verdict.possibly_alive = reference_categories(network, inputs, rows, observer, 1 + slack);
  verdict.alive = reference_categories(network, inputs, verdict.possibly_alive, observer, 1 - slack);
  return verdict;
}

std::vector<double> reference_outputs(const LayerSource& network, const InputRows& inputs,
                                      std::span<const Index> rows, const Observer& observer) {
  Rows under_way = load(inputs, rows);
  for (Index l = 0; l < network.layers(); ++l) {
    observer.check_stop();
    under_way.x = apply(*network.layer(l), under_way);
  }
  std::vector<double> outputs(under_way.x.size());
  const std::size_t width = under_way.x.size() / std::max<std::size_t>(1, under_way.count);
  for (std::size_t n = 0; n < width; ++n)
    for (std::size_t b = 0; b < under_way.count; ++b)
      outputs[b * width + n] = under_way.x[n * under_way.count + b];
  return outputs;
}

}  // namespace filigree::internal
