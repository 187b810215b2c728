// SPDX-License-Identifier: Apache-2.0
#include "compile/merge_neurons.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_map>

namespace filigree::internal {

namespace {

std::uint64_t hash_row(std::span<const Index> columns, std::span<const float> values, float bias) {
  std::uint64_t hash = std::bit_cast<std::uint32_t>(bias);
  for (std::size_t e = 0; e < columns.size(); ++e) {
    const auto entry = static_cast<std::uint64_t>(static_cast<std::uint32_t>(columns[e])) << 32 |
                       std::bit_cast<std::uint32_t>(values[e]);
    hash = (std::rotl(hash, 23) ^ entry) * 0x9e3779b97f4a7c15u;
  }
  return hash ^ hash >> 32;
}

bool same_row(const CsrView& a, float bias_a, Index row_a, const CsrView& b, float bias_b, Index row_b) {
  return bias_a == bias_b && std::ranges::equal(a.row_columns(row_a), b.row_columns(row_b)) &&
         std::ranges::equal(a.row_values(row_a), b.row_values(row_b));
}

// Places of rows by their hash; rows with equal hashes are told apart by `same`.
class RowTable {
 public:
  explicit RowTable(std::size_t rows) { table_.reserve(rows); }

  // The place of an equal row entered before, or `place` after entering it.
  template <typename Same>
  Index find_or_enter(std::uint64_t hash, Index place, const Same& same) {
    for (;; ++hash) {  // on a collision of hashes, the next key
      const auto [at, entered] = table_.try_emplace(hash, place);
      if (entered || same(at->second)) return at->second;
    }
  }

 private:
  std::unordered_map<std::uint64_t, Index> table_;
};

}  // namespace

DistinctRows find_distinct_rows(const Layer& layer) {
  DistinctRows distinct;
  distinct.kind_of.resize(layer.weights.rows);
  const CsrView w = layer.weights.view();
  RowTable table(static_cast<std::size_t>(layer.weights.rows) / 8);
  for (Index r = 0; r < layer.weights.rows; ++r) {
    const float bias = layer.bias[r];
    const Index kind = distinct.first.size();
    const Index found =
        table.find_or_enter(hash_row(w.row_columns(r), w.row_values(r), bias), kind, [&](Index other) {
          const Index first = distinct.first[other];
          return same_row(w, bias, r, w, layer.bias[first], first);
        });
    if (found == kind) distinct.first.push_back(r);
    distinct.kind_of[r] = found;
  }
  return distinct;
}

MergeSweep::MergeSweep(Index inputs) : neuron_(inputs), constant_(inputs, 0.0f), width_(inputs) {
  std::iota(neuron_.begin(), neuron_.end(), 0);
}

Layer MergeSweep::step(const Layer& layer, const DistinctRows& distinct) {
  Layer merged;
  merged.activation = layer.activation;
  merged.weights.cols = width_;
  const CsrView w = layer.weights.view();

  std::vector<double> sum(width_, 0.0);
  std::vector<Index> touched;
  std::vector<Index> place_of_kind(distinct.first.size());
  std::vector<float> constant_of_kind(distinct.first.size(), 0.0f);
  std::vector<Offset> folded_of_kind(distinct.first.size(), 0);  // connections, for constants
  std::vector<Index> columns;
  std::vector<float> values;
  RowTable table(distinct.first.size());
  for (std::size_t kind = 0; kind < distinct.first.size(); ++kind) {
    const Index r = distinct.first[kind];
    const auto row_columns = w.row_columns(r);
    const auto row_values = w.row_values(r);
    const float own_bias = layer.bias[r];
    double folded = 0;
    touched.clear();
    for (std::size_t e = 0; e < row_columns.size(); ++e) {
      const std::size_t c = row_columns[e];
      if (neuron_[c] < 0) {
        folded += static_cast<double>(row_values[e]) * constant_[c];
        folded_of_kind[kind] += row_values[e] != 0;
      } else {
        double& s = sum[neuron_[c]];
        if (s == 0) touched.push_back(neuron_[c]);
        s += row_values[e];
      }
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    columns.clear();
    values.clear();
    for (const Index c : touched) {
      double& s = sum[c];
      if (s != 0) {  // weights that cancel leave no connection
        columns.push_back(c);
        values.push_back(s);
      }
      s = 0;
    }
    if (folded != 0) biases_changed_ = true;
    const double bias = own_bias + folded;
    if (columns.empty()) {
      place_of_kind[kind] = -1;
      folded_of_kind[kind] = std::ranges::count_if(row_values, [](float v) { return v != 0; });
      constant_of_kind[kind] = layer.activation(bias);
      continue;
    }
    const auto bias_value = static_cast<float>(bias);
    const Index place = merged.bias.size();
    const CsrMatrix row{1, width_, {0, static_cast<Offset>(columns.size())}, columns, values};
    const Index found = table.find_or_enter(hash_row(columns, values, bias_value), place, [&](Index other) {
      return same_row(
          row.view(), bias_value, 0,
          CsrView{place, width_, merged.weights.row_begin, merged.weights.column, merged.weights.value},
          merged.bias[other], other);
    });
    place_of_kind[kind] = found;
    if (found != place) continue;
    merged.bias.push_back(bias_value);
    merged.weights.column.insert(merged.weights.column.end(), columns.begin(), columns.end());
    merged.weights.value.insert(merged.weights.value.end(), values.begin(), values.end());
    merged.weights.row_begin.push_back(merged.weights.nnz());
  }
  merged.weights.rows = merged.bias.size();

  neuron_.resize(distinct.kind_of.size());
  constant_.resize(distinct.kind_of.size());
  Offset constants = 0;
  for (std::size_t j = 0; j < distinct.kind_of.size(); ++j) {
    const std::size_t kind = distinct.kind_of[j];
    neuron_[j] = place_of_kind[kind];
    constant_[j] = constant_of_kind[kind];
    constants += neuron_[j] < 0;
    constant_connections_ += folded_of_kind[kind];
  }
  constants_ += constants;
  merged_ += layer.outputs() - constants - merged.outputs();
  width_ = merged.outputs();
  return merged;
}

}  // namespace filigree::internal
