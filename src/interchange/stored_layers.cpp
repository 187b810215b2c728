// SPDX-License-Identifier: Apache-2.0
#include "interchange/stored_layers.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace filigree::internal {

namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Do the layers follow each other, if each matrix is turned as said?
bool follow(const std::vector<StoredLayer>& layers, bool in_out, Index bias_rows) {
  Index width = 0;
  for (const StoredLayer& layer : layers) {
    const Index inputs = (in_out ? layer.weights.rows : layer.weights.cols) - bias_rows;
    const Index outputs = in_out ? layer.weights.cols : layer.weights.rows;
    if (width != 0 && inputs != width) return false;
    if (!layer.bias.empty() && layer.bias.size() != 1 && std::ssize(layer.bias) != outputs) return false;
    width = outputs;
  }
  return true;
}

std::string sizes_of(const std::vector<StoredLayer>& layers) {
  std::string text;
  for (const StoredLayer& layer : layers)
    text += fmt::format("{}{} is {} × {}", text.empty() ? "" : ", ", layer.name, layer.weights.rows,
                        layer.weights.cols);
  return text;
}

// The last column of W holds the biases.
void take_bias_column(StoredLayer& layer) {
  if (!layer.bias.empty()) fail("{}: biases in a file of their own, and in its last row as well", layer.name);
  const Weights& from = layer.weights;
  Weights weights{from.rows, from.cols - 1};
  layer.bias.assign(from.rows, 0.0);
  for (Index r = 0; r < from.rows; ++r) {
    for (Offset e = from.row_begin[r]; e < from.row_begin[r + std::size_t{1}]; ++e) {
      if (from.column[e] == weights.cols) {
        layer.bias[r] = from.value[e];
        continue;
      }
      weights.column.push_back(from.column[e]);
      weights.value.push_back(from.value[e]);
    }
    weights.end_row();
  }
  layer.weights = std::move(weights);
}

std::string activation_text(const ActivationFunction& activation) {
  std::string text(activation_name(activation.kind));
  if (activation.has_slope()) text += fmt::format(" {}", activation.slope);
  if (activation.saturates()) text += fmt::format(" capped at {}", activation.cap);
  return text;
}

}  // namespace

bool in_natural_order(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto number = [](const std::string& text, std::size_t& at) {
        const std::size_t begin = std::min(text.find_first_not_of('0', at), text.size());
        at = std::max(begin, at);
        while (at < text.size() && is_digit(text[at])) ++at;
        return text.substr(std::min(begin, at), at - std::min(begin, at));
      };
      const std::string x = number(a, i), y = number(b, j);
      if (x != y) return x.size() != y.size() ? x.size() < y.size() : x < y;
    } else if (a[i] != b[j]) {
      return a[i] < b[j];
    } else {
      ++i, ++j;
    }
  }
  return a.size() - i < b.size() - j;
}

void drop_zeros(Weights& weights, bool keep, Offset& zeros) {
  Weights kept{weights.rows, weights.cols};
  for (Index r = 0; r < weights.rows; ++r) {
    for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e) {
      if (weights.value[e] == 0) ++zeros;
      if (weights.value[e] == 0 && !keep) continue;
      kept.column.push_back(weights.column[e]);
      kept.value.push_back(weights.value[e]);
    }
    kept.end_row();
  }
  weights = std::move(kept);
}

void orient(std::vector<StoredLayer>& layers, const ImportOptions& options, std::vector<std::string>& notes) {
  const Index bias_rows = options.bias_row ? 1 : 0;
  bool in_out = options.orientation == Orientation::in_out;
  if (options.orientation == Orientation::automatic) {
    const bool as_rows = follow(layers, false, bias_rows), as_columns = follow(layers, true, bias_rows);
    if (!as_rows && !as_columns && !options.bias_row && (follow(layers, false, 1) || follow(layers, true, 1)))
      fail_for("bias_row",
               "the layers do not follow each other ({}), but would if one row of each held the biases",
               sizes_of(layers));
    if (!as_rows && !as_columns) fail("the layers do not follow each other: {}", sizes_of(layers));
    in_out = !as_rows;
    notes.emplace_back(fmt::format("matrices have a row for each {}{}", in_out ? "input" : "output",
                                   as_rows && as_columns ? ", as far as their sizes tell" : ""));
  } else if (!follow(layers, in_out, bias_rows)) {
    fail("the layers do not follow each other with a row for each {}: {}", in_out ? "input" : "output",
         sizes_of(layers));
  }
  for (StoredLayer& layer : layers) {
    if (in_out) layer.weights = transposed(layer.weights);
    if (options.bias_row) take_bias_column(layer);
  }
}

std::string activations_note(const ImportOptions& options) {
  return fmt::format(
      "the file does not say which activations there are: {} after every layer but the last, {} after that",
      activation_text(options.hidden), activation_text(options.last));
}

Network network_of(const std::vector<StoredLayer>& layers, const ImportOptions& options,
                   const std::string& name, std::vector<std::string>& notes) {
  if (layers.empty()) fail("{}: no matrices", name);
  Flow flow(layers.front().weights.cols);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const StoredLayer& layer = layers[l];
    try {
      std::vector<double> bias = layer.bias;
      if (bias.size() == 1) bias.assign(layer.weights.rows, layer.bias.front());
      if (!bias.empty() && std::ssize(bias) != layer.weights.rows)
        fail("{} biases for {} outputs", bias.size(), layer.weights.rows);
      flow = flow.multiplied(layer.weights, std::move(bias));
    } catch (const Error& error) {
      fail("{}: {}: {}", name, layer.name, error.what());
    }
    flow = flow.activated(l + 1 < layers.size() ? options.hidden : options.last);
  }
  notes.push_back(activations_note(options));
  NetworkFacts facts;
  facts.loss = options.loss;
  return flow.network(name, std::move(facts));
}

}  // namespace filigree::internal
