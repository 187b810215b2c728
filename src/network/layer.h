// SPDX-License-Identifier: Apache-2.0
// A layer: y = activation(W x + b).
#pragma once

#include <optional>
#include <vector>

#include "filigree/activation.h"
#include "filigree/sparse.h"

namespace filigree::internal {

// Which experts of a mixture a row goes to: the `active` ones with the largest of z = W x + b. They weigh the
// softmax of z among the chosen; a single one weighs its softmax among all.
struct Gate {
  CsrMatrix weights;  // one row per expert
  std::vector<float> bias;
  Index active = 1;

  bool operator==(const Gate&) const = default;
};

// With a gate, a mixture: W and b are those of all experts, one after the other, and y is the weighted sum of
// activation(W_e x + b_e) over the experts e that a row goes to.
struct Layer {
  CsrMatrix weights;        // one row per output neuron
  std::vector<float> bias;  // one per output neuron
  ActivationFunction activation = {};
  std::optional<Gate> gate = {};

  Index inputs() const { return weights.cols; }
  Index outputs() const { return gate ? weights.rows / experts() : weights.rows; }
  Index experts() const { return gate ? gate->weights.rows : 1; }
  bool operator==(const Layer&) const = default;
};

Index largest_fan_in(const Layer& layer);

// Does a row of zeros come out as zeros?
bool zero_stays_zero(const Layer& layer);

// The experts of a mixture as layers of their own, and one more among them (the gate is not looked at).
Layer expert_of(const Layer& mixture, Index expert);
void append_expert(Layer& mixture, const Layer& expert);

// Throws Error if the parts do not fit or a number is not finite; `what` names the layer.
void validate(const Layer& layer, std::string_view what);

}  // namespace filigree::internal
