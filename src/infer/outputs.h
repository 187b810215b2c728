// SPDX-License-Identifier: Apache-2.0
// What a row of outputs says.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "filigree/loss.h"
#include "filigree/vocabulary.h"

namespace filigree::internal {

// The largest output, the first of equals; -1 if one of them is NaN.
inline Index best_output(std::span<const float> outputs) {
  if (std::ranges::any_of(outputs, [](float o) { return std::isnan(o); })) return -1;
  return std::ranges::max_element(outputs) - outputs.begin();
}

// Makes probabilities of logits; in double, from the largest one down, so that nothing overflows.
inline void softmax(std::span<float> outputs) {
  const double largest = std::ranges::max(outputs);
  double sum = 0;
  for (const float o : outputs) sum += std::exp(o - largest);
  for (float& o : outputs) o = std::exp(o - largest) / sum;
}

inline void sigmoid(std::span<float> outputs) {
  for (float& o : outputs) o = 1 / (1 + std::exp(-double{o}));
}

// The class that a row of outputs tells, -1 if one of them is NaN; of two told apart by one output the one
// whose probability is larger.
inline Index best_class(std::span<const float> outputs, std::size_t classes) {
  if (outputs.size() == classes) return best_output(outputs);
  if (std::isnan(outputs[0])) return -1;
  return outputs[0] > 0 ? 1 : 0;
}

// Outputs as what they say: probabilities where the link makes them, else as they are.
inline void apply_link(OutputLink link, std::span<float> outputs) {
  switch (link) {
    case OutputLink::softmax:
      softmax(outputs);
      break;
    case OutputLink::sigmoid:
      sigmoid(outputs);
      break;
    case OutputLink::identity:
      break;
  }
}

// What a row of outputs says of each class: probabilities where the link makes them.
inline void class_probabilities(OutputLink link, std::span<const float> outputs,
                                std::span<float> probability) {
  std::ranges::copy(outputs, probability.begin());
  apply_link(link, probability.first(outputs.size()));
  if (outputs.size() == probability.size()) return;
  probability[1] = probability[0];
  probability[0] = 1 - probability[1];
}

}  // namespace filigree::internal
