// SPDX-License-Identifier: Apache-2.0
// What there is to know about a layer's connections.
#include <algorithm>

#include "compile/merge_neurons.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

LayerInfo layer_info(const Network& network, Index l) {
  const LayerView view = network.layer(l);
  const LayerPointer kept = network.parts().layers->layer(l);
  const CsrMatrix& weights = kept->weights;
  LayerInfo info;
  info.inputs = view.inputs;
  info.outputs = view.outputs;
  info.experts = view.experts;
  info.active_experts = view.active_experts;
  info.gate_connections = kept->gate ? kept->gate->weights.nnz() : 0;
  info.connections = weights.nnz();
  info.activation = view.activation;
  // Of a mixture, what follows is of all experts' neurons.
  info.distinct_neurons = find_distinct_rows(*kept).first.size();
  std::vector<char> read(view.inputs, 0);
  for (const Index c : weights.column) read[c] = 1;
  info.unread_inputs = std::ranges::count(read, 0);
  for (Index r = 0; r < weights.rows; ++r) {
    const Index fan_in = weights.view().row_columns(r).size();
    info.smallest_fan_in = r == 0 ? fan_in : std::min(info.smallest_fan_in, fan_in);
    info.largest_fan_in = std::max(info.largest_fan_in, fan_in);
  }
  if (!weights.value.empty()) {
    const auto [smallest, largest] = std::ranges::minmax(weights.value);
    info.smallest_weight = smallest;
    info.largest_weight = largest;
    info.uniform = smallest == largest;
  }
  return info;
}

}  // namespace filigree
