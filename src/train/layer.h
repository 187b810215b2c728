// SPDX-License-Identifier: Apache-2.0
// A layer while it is trained: connections, values, gradients and the optimizer's memory, all of one length.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "filigree/options.h"
#include "filigree/reports.h"
#include "network/layer.h"
#include "sparse/pattern.h"

namespace filigree::internal {

// Independent random streams of one seed; `a` and `b` tell layers, steps and epochs apart.
enum class Stream : std::uint64_t { topology = 1, values, shuffle, dropout, growth, growth_rows, validation };
inline Random random_stream(std::uint64_t seed, Stream stream, std::uint64_t a = 0, std::uint64_t b = 0) {
  return Random(seed, mix64(static_cast<std::uint64_t>(stream) + 0x100 * mix64(a + 0x1000 * mix64(b))));
}

struct TrainLayer {
  Index inputs = 0, outputs = 0;
  LayerRole role = LayerRole::chain;
  std::size_t level =
      0;  // what it reads; a chain layer reads what the layers before it lead to, see levels_of
  ActivationFunction activation = {};

  // A dense layer has no pattern; its values are outputs × inputs. Otherwise the pattern has a row for each
  // output, or for each input (`by_input`): where the layer reads sparse rows, so that the connections of a
  // feature that occurs lie together, and in all layers above the first, for the backward pass
  // (backward_panel).
  bool dense = false, by_input = false;
  Pattern pattern;
  Pattern transposed;  // by output, for the forward pass through the layers above the first; else empty
  std::vector<float> value, transposed_value;
  std::vector<float> first,
      second;  // moments: momentum, and Adam's second moment. Empty if the optimizer has none
  std::vector<float> gradient;  // one for each slice of a batch
  std::vector<float> bias, bias_first, bias_second, bias_gradient;
  double threshold = 0;  // Ertl's τ

  std::size_t connections() const { return value.size(); }
  std::size_t capacity() const { return static_cast<std::size_t>(inputs) * outputs; }
  // What the connections cost: weights with their places, gradient, momentum (parameters), and what makes the
  // passes fast besides (workspace: transposed copy, gradients of further slices).
  std::size_t parameter_bytes() const;
  std::size_t workspace_bytes() const;
};

// The level that each layer reads.
std::vector<std::size_t> levels_of(const std::vector<TrainLayer>& layers);
inline bool leads_on(const TrainLayer& layer) {
  return layer.role == LayerRole::chain || layer.role == LayerRole::expert;
}

// The last layer that leads on, and every exit.
bool gives_outputs(const std::vector<TrainLayer>& layers, std::size_t l);

// Puts the values of the transposed connections in order again, after values or connections changed.
void refresh_transposed(TrainLayer& layer);

// Sizes gradients and moments to the connections there are. New places are zero.
void resize_state(TrainLayer& layer, Optimizer optimizer, std::size_t slices);

Layer to_layer(const TrainLayer& layer);

// The other way: connections, values and biases of `layer` become those of `source`, a layer of the same
// shape, stored as `layer` says (dense, by_input). The optimizer's memory is of other connections and goes.
// `reads_neurons`: it is above the first, and needs the transposed connections.
void set_connections(TrainLayer& layer, const Layer& source, bool reads_neurons);

}  // namespace filigree::internal
