// SPDX-License-Identifier: Apache-2.0
#include "compile/expand.h"

#include <algorithm>
#include <cmath>

namespace filigree::internal {

namespace {

// Every outer input reads what the input it was added to reads.
CsrMatrix expand_inputs(const CsrMatrix& weights, const std::vector<Index>& input_of) {
  CsrMatrix wide;
  wide.rows = weights.rows;
  wide.cols = input_of.size();
  const CsrView w = weights.view();
  std::vector<float> row(weights.cols);
  std::vector<std::uint8_t> there(row.size());
  for (Index r = 0; r < w.rows; ++r) {
    const auto columns = w.row_columns(r);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      row[columns[e]] = w.row_values(r)[e];
      there[columns[e]] = 1;
    }
    for (std::size_t i = 0; i < input_of.size(); ++i) {
      if (input_of[i] < 0 || there[input_of[i]] == 0) continue;
      wide.column.push_back(i);
      wide.value.push_back(row[input_of[i]]);
    }
    wide.row_begin.push_back(wide.nnz());
    for (const Index c : columns) there[c] = 0;
  }
  return wide;
}

Layer expand_outputs(const Layer& last, const PortMap& ports) {
  Layer wide = last;
  wide.weights = {};
  wide.bias.clear();
  wide.weights.cols = last.inputs();
  wide.weights.rows = ports.output_of.size();
  for (std::size_t o = 0; o < ports.output_of.size(); ++o) {
    const Index neuron = ports.output_of[o];
    if (neuron >= 0) {
      const auto columns = last.weights.view().row_columns(neuron);
      const auto values = last.weights.view().row_values(neuron);
      wide.weights.column.insert(wide.weights.column.end(), columns.begin(), columns.end());
      wide.weights.value.insert(wide.weights.value.end(), values.begin(), values.end());
      wide.bias.push_back(last.bias[neuron]);
    } else {
      wide.bias.push_back(last.activation.inverse(ports.output_constant[o]));
    }
    wide.weights.row_begin.push_back(wide.weights.nnz());
  }
  return wide;
}

}  // namespace

Network expanded(const Network& network) {
  const PortMap& ports = network.parts().ports;
  if (ports.empty()) return network;
  std::vector<LayerPointer> layers = all_layers(network);
  Layer first = *layers.front();
  first.weights = expand_inputs(first.weights, ports.input_of);
  layers.front() = std::make_shared<const Layer>(std::move(first));
  layers.back() = std::make_shared<const Layer>(expand_outputs(*layers.back(), ports));
  Network::Parts parts = network.parts();
  parts.ports = {};
  return Network(parts.with(std::move(layers), network.describe()));
}

}  // namespace filigree::internal
