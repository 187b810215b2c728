// SPDX-License-Identifier: Apache-2.0
#include "train/connections.h"

#include <algorithm>
#include <numeric>

#include "kernels/activation.h"

namespace filigree::internal {

namespace {

// Which neurons have an input, and which a reader, counting connections that stay. Index [level][n].
struct Ends {
  std::vector<std::size_t> from;                     // per layer: the level that it reads
  std::vector<std::vector<std::uint8_t>> fed, read;  // of the levels that chain layers and experts lead to
  std::vector<const TrainLayer*> below;              // per level: what leads there, of experts the last one

  Ends(const std::vector<TrainLayer>& layers, const std::vector<Keep>& keep) : from(levels_of(layers)) {
    fed.resize(1);  // the inputs
    read.resize(1);
    below.resize(1);
    for (std::size_t l = 0; l < layers.size() && leads_on(layers[l]); ++l) {
      const std::size_t neurons = layers[l].outputs;
      fed.resize(from[l] + 2);
      // What an expert's neuron without inputs gives is no constant: the gate decides.
      fed.back().resize(neurons, std::uint8_t{layers[l].dense || layers[l].role == LayerRole::expert});
      read.resize(from[l] + 2);
      read.back().resize(neurons, 0);
      below.resize(from[l] + 2);
      below.back() = &layers[l];
    }
    std::ranges::fill(read.back(), std::uint8_t{1});
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (layers[l].dense) {
        std::ranges::fill(read[from[l]], std::uint8_t{1});
        continue;
      }
      for_each_connection(layers[l], [&](std::size_t output, std::size_t input, std::size_t e) {
        if (!keep.empty() && !keep[l][e]) return;
        if (leads_on(layers[l])) fed[from[l] + 1][output] = 1;
        if (from[l] > 0) read[from[l]][input] = 1;
      });
    }
  }
};

// By row and column. Rows are short, so counting them first leaves little to sort.
std::vector<Candidate> in_order_of_places(const std::vector<Candidate>& candidates, Index rows) {
  std::vector<std::uint32_t> end(static_cast<std::size_t>(rows) + 1, 0);
  for (const Candidate& c : candidates) ++end[c.row + 1];
  std::partial_sum(end.begin(), end.end(), end.begin());
  std::vector<Candidate> ordered(candidates.size());
  for (const Candidate& c : candidates) ordered[end[c.row]++] = c;
  std::uint32_t begin = 0;
  for (Index r = 0; r < rows; begin = end[r++])
    std::sort(ordered.begin() + begin, ordered.begin() + end[r],
              [](const Candidate& a, const Candidate& b) { return a.column < b.column; });
  return ordered;
}

}  // namespace

std::vector<Keep> keep_all(const std::vector<TrainLayer>& layers) {
  std::vector<Keep> keep;
  keep.reserve(layers.size());
  for (const TrainLayer& layer : layers) keep.emplace_back(layer.connections(), std::uint8_t{1});
  return keep;
}

std::size_t count_kept(const Keep& keep) {
  return std::count(keep.begin(), keep.end(), std::uint8_t{1});
}

Index count_dead(const std::vector<TrainLayer>& layers) {
  const Ends ends(layers, {});
  Index dead = 0;
  for (std::size_t level = 1; level + 1 < ends.fed.size(); ++level)
    for (std::size_t n = 0; n < ends.fed[level].size(); ++n)
      dead += !ends.fed[level][n] || !ends.read[level][n];
  return dead;
}

void mark_lost(std::vector<TrainLayer>& layers, std::vector<Keep>& keep) {
  for (bool changed = true; changed;) {
    changed = false;
    const Ends ends(layers, keep);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      TrainLayer& layer = layers[l];
      for_each_connection(layer, [&](std::size_t output, std::size_t input, std::size_t e) {
        if (!keep[l][e]) return;
        const std::size_t from = ends.from[l];
        const bool constant = from > 0 && !ends.fed[from][input];
        if (!constant && (!leads_on(layer) || ends.read[from + 1][output])) return;
        if (constant) {
          const TrainLayer& below = *ends.below[from];
          layer.bias[output] += layer.value[e] * static_cast<float>(below.activation(below.bias[input]));
        }
        keep[l][e] = 0;
        changed = true;
      });
    }
  }
}

Pattern kept_pattern(const TrainLayer& layer, const Keep& keep) {
  Pattern kept;
  kept.rows = layer.pattern.rows;
  kept.cols = layer.pattern.cols;
  for (Index r = 0; r < kept.rows; ++r) {
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      if (keep[e]) kept.column.push_back(layer.pattern.column[e]);
    kept.row_begin.push_back(kept.column.size());
  }
  return kept;
}

void rebuild(TrainLayer& layer, const Keep& keep, const std::vector<Candidate>& candidates, double rate,
             Optimizer optimizer, std::size_t slices) {
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
    for (; next != grown.end() && next->row == row && next->column < before; ++next)
      append(static_cast<std::uint16_t>(next->column), rate * next->gradient, 0, 0);
  };
  for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(pattern.rows); ++r) {
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e) {
      if (!keep[e]) continue;
      append_grown(r, layer.pattern.column[e]);
      append(layer.pattern.column[e], layer.value[e], layer.first.empty() ? 0 : layer.first[e],
             layer.second.empty() ? 0 : layer.second[e]);
    }
    append_grown(r, ~0u);
    pattern.row_begin.push_back(pattern.column.size());
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
  resize_state(layer, optimizer, slices);
  refresh_transposed(layer);
}

Offset drop_connections(std::vector<TrainLayer>& layers, const std::vector<Keep>& keep, Optimizer optimizer,
                        std::size_t slices) {
  std::size_t dropped = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t here = keep[l].size() - count_kept(keep[l]);
    if (here > 0) rebuild(layers[l], keep[l], {}, 0, optimizer, slices);
    dropped += here;
  }
  return dropped;
}

}  // namespace filigree::internal
