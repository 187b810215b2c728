// SPDX-License-Identifier: Apache-2.0
// For tests of training: small data sets, layers by hand, and a forward pass in double that shares no code
// with the one it checks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "base/random.h"
#include "base/test_threads.h"
#include "data/dataset.h"
#include "train/layer.h"
#include "train/pass.h"

namespace filigree::internal {

enum class Kind { floats, bytes, sparse };
inline constexpr Kind kKinds[] = {Kind::floats, Kind::bytes, Kind::sparse};

// Calls value(row, feature) for each place of a part; sparse rows keep what is not zero.
template <typename Value>
DataRows make_rows(Kind kind, std::vector<Index> labels, Index features, const Value& value) {
  DataRows data;
  data.rows = labels.size();
  data.features = features;
  data.label = std::move(labels);
  const auto size = static_cast<std::size_t>(data.rows) * features;
  if (kind == Kind::floats) data.floats = Buffer<float>(size);
  if (kind == Kind::bytes) data.bytes = Buffer<std::uint8_t>(size);
  if (kind == Kind::sparse) data.row_begin.push_back(0);
  std::vector<Index> column;
  std::vector<float> stored;
  std::size_t at = 0;
  for (Index r = 0; r < data.rows; ++r) {
    for (Index f = 0; f < features; ++f, ++at) {
      const double v = value(r, f);
      if (kind == Kind::floats) {
        data.floats[at] = v;
      } else if (kind == Kind::bytes) {
        data.bytes[at] = static_cast<std::uint8_t>(std::clamp(128 + 40 * v, 0.0, 255.0));
      } else if (v != 0) {
        column.push_back(f);
        stored.push_back(static_cast<float>(v));
      }
    }
    if (kind == Kind::sparse) data.row_begin.push_back(std::ssize(column));
  }
  data.column = buffer_of(column);
  data.value = buffer_of(stored);
  return data;
}

// Features and labels without any connection; in sparse rows two features of five occur.
inline DataRows random_rows(Kind kind, Index rows, Index features, Index classes, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> labels(rows);
  for (Index& label : labels) label = random.below(classes);
  return make_rows(kind, std::move(labels), features, [&](Index, Index) {
    const double v = random.normal();
    return kind == Kind::sparse && random.uniform() < 0.6 ? 0.0 : v;
  });
}

inline Dataset random_data(Kind kind, Index rows, Index features, Index classes, std::uint64_t seed) {
  return {"random rows", classes, random_rows(kind, rows, features, classes, seed),
          random_rows(kind, rows / 2, features, classes, seed + 1000)};
}

// Four features per class; those of a row's class are higher by far than the others.
inline Dataset separable_data(Kind kind, Index rows, Index classes, std::uint64_t seed) {
  const auto part = [&](Index count, std::uint64_t part_seed) {
    Random random(part_seed);
    std::vector<Index> labels;
    for (Index r = 0; r < count; ++r) labels.push_back(r % classes);
    return make_rows(kind, labels, 4 * classes, [&](Index r, Index f) {
      const double noise = 0.3 * random.normal();
      const bool own = f / 4 == r % classes;
      if (kind == Kind::sparse && !own && random.uniform() < 0.7) return 0.0;
      return own ? 2 + noise : noise;
    });
  };
  return {"separable rows", classes, part(rows, seed), part(rows / 2, seed + 1000)};
}

// What the first layer gets for a feature, scaled.
inline double feature_of(const DataRows& data, const InputScaling& scaling, Index row, Index feature) {
  const std::size_t r = row;
  const std::size_t f = feature;
  if (data.sparse()) {
    for (Offset i = data.row_begin[r]; i < data.row_begin[r + 1]; ++i)
      if (data.column[i] == feature) return double{data.value[i]};
    return 0;
  }
  const std::size_t at = r * data.features + f;
  const double value = data.bytes.empty() ? double{data.floats[at]} : static_cast<double>(data.bytes[at]);
  if (scaling.mean.empty()) return value;
  const std::size_t place = scaling.mean.size() == 1 ? 0 : f;
  return (value - double{scaling.mean[place]}) * double{scaling.scale[place]};
}

// A connection and the place of its value.
struct Link {
  std::size_t output, input, entry;
};

inline std::vector<Link> links(const TrainLayer& layer) {
  std::vector<Link> all;
  if (layer.dense) {
    const std::size_t inputs = layer.inputs;
    for (std::size_t e = 0; e < layer.value.size(); ++e) all.push_back({e / inputs, e % inputs, e});
    return all;
  }
  for (std::size_t r = 0; r + 1 < layer.pattern.row_begin.size(); ++r) {
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e) {
      const std::size_t c = layer.pattern.column[e];
      all.push_back(layer.by_input ? Link{c, r, e} : Link{r, c, e});
    }
  }
  return all;
}

// A layer with every weight, in double.
struct DoubleLayer {
  std::size_t inputs = 0, outputs = 0;
  std::vector<double> weight, bias;  // outputs × inputs
  Activation activation = Activation::relu;
  double slope = 0;
};

inline std::vector<DoubleLayer> in_double(const std::vector<TrainLayer>& layers) {
  std::vector<DoubleLayer> network;
  for (const TrainLayer& layer : layers) {
    DoubleLayer& d = network.emplace_back();
    d.inputs = layer.inputs;
    d.outputs = layer.outputs;
    d.weight.assign(d.inputs * d.outputs, 0.0);
    for (const Link& link : links(layer))
      d.weight[link.output * d.inputs + link.input] = double{layer.value[link.entry]};
    d.bias.assign(layer.bias.begin(), layer.bias.end());
    d.activation = layer.activation.kind;
    d.slope = double{layer.activation.slope};
  }
  return network;
}

inline double activated(const DoubleLayer& layer, double z) {
  switch (layer.activation) {
    case Activation::identity:
      return z;
    case Activation::relu:
      return z > 0 ? z : 0;
    case Activation::leaky_relu:
      return z > 0 ? z : layer.slope * z;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::softplus:
      return z > 30 ? z : std::log1p(std::exp(z));
  }
  return z;
}

// mask(level, neuron) multiplies the outputs of a hidden layer; the first has level 1.
template <typename Mask>
std::vector<double> outputs_of(const std::vector<DoubleLayer>& network, std::vector<double> x,
                               const Mask& mask) {
  for (std::size_t l = 0; l < network.size(); ++l) {
    const DoubleLayer& layer = network[l];
    std::vector<double> y(layer.bias);
    for (std::size_t o = 0; o < layer.outputs; ++o) {
      for (std::size_t i = 0; i < layer.inputs; ++i) y[o] += layer.weight[o * layer.inputs + i] * x[i];
      y[o] = activated(layer, y[o]);
      if (l + 1 < network.size()) y[o] *= mask(l + 1, o);
    }
    x = std::move(y);
  }
  return x;
}

inline std::vector<double> outputs_of(const std::vector<DoubleLayer>& network, std::vector<double> x) {
  return outputs_of(network, std::move(x), [](std::size_t, std::size_t) { return 1.0; });
}

inline std::vector<double> inputs_of(const DataRows& data, const InputScaling& scaling, Index row) {
  std::vector<double> x;
  for (Index f = 0; f < data.features; ++f) x.push_back(feature_of(data, scaling, row, f));
  return x;
}

// How many of the rows the network gets right, and how many it gets nearly wrong: rounding may decide those.
struct Score {
  std::int64_t right = 0, close = 0;
};

inline Score score_of(const std::vector<DoubleLayer>& network, const DataRows& data,
                      const InputScaling& scaling, std::span<const Index> rows) {
  Score score;
  for (const Index row : rows) {
    const std::vector<double> y = outputs_of(network, inputs_of(data, scaling, row));
    const std::size_t label = data.label[row];
    double other = -1e300;
    for (std::size_t c = 0; c < y.size(); ++c)
      if (c != label) other = std::max(other, y[c]);
    score.right += y[label] > other;
    score.close += std::fabs(y[label] - other) < 1e-5;
  }
  return score;
}

// A sparse layer from its connections, sorted by output and input.
struct Connection {
  Index output, input;
  float value;
};
inline TrainLayer hand_layer(Index inputs, Index outputs, const std::vector<Connection>& connections,
                             std::vector<float> bias, bool above_another) {
  TrainLayer layer;
  layer.inputs = inputs;
  layer.outputs = outputs;
  CsrMatrix matrix{outputs, inputs, {0}, {}, {}};
  for (Index o = 0; o < outputs; ++o) {
    for (const Connection& c : connections) {
      if (c.output != o) continue;
      matrix.column.push_back(c.input);
      matrix.value.push_back(c.value);
    }
    matrix.row_begin.push_back(matrix.nnz());
  }
  if (above_another) matrix = transpose(matrix.view());
  layer.by_input = above_another;
  layer.pattern = to_pattern(matrix.view());
  layer.value = matrix.value;
  layer.bias = std::move(bias);
  if (above_another) {
    layer.transposed = transpose(layer.pattern);
    layer.transposed_value.resize(layer.transposed.nnz());
    refresh_transposed(layer);
  }
  return layer;
}

// Everything that training changes, bit by bit.
inline std::vector<std::uint32_t> all_bits(const std::vector<TrainLayer>& layers) {
  std::vector<std::uint32_t> bits;
  for (const TrainLayer& layer : layers) {
    bits.insert(bits.end(), layer.pattern.row_begin.begin(), layer.pattern.row_begin.end());
    bits.insert(bits.end(), layer.pattern.column.begin(), layer.pattern.column.end());
    for (const auto* values :
         {&layer.value, &layer.first, &layer.second, &layer.bias, &layer.bias_first, &layer.bias_second})
      for (const float value : *values) bits.push_back(std::bit_cast<std::uint32_t>(value));
    bits.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(layer.threshold)));
  }
  return bits;
}

// Random samples as a pass would record them: `samples` of them, zero from there to the width.
inline Record random_record(const std::vector<TrainLayer>& layers, std::size_t samples, Index data_rows,
                            std::uint64_t seed) {
  Record record(layers, samples);
  Random random(seed);
  const auto fill = [&](Buffer<float>& values) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i % record.width < samples) values[i] = random.normal();
  };
  for (Record::LayerRecord& layer : record.layers) {
    fill(layer.x);
    fill(layer.delta);
  }
  for (std::size_t b = 0; b < samples; ++b) record.rows[b] = random.below(data_rows);
  return record;
}

// The gradient of the weight at a place, there or not, and the sum of the magnitudes of its terms.
struct GradientAt {
  double sum = 0, magnitude = 0;
};
inline GradientAt gradient_at(std::size_t l, const Record& record, const DataRows& data, std::size_t output,
                              std::size_t input) {
  GradientAt result;
  const Record::LayerRecord& kept = record.layers[l];
  for (std::size_t b = 0; b < record.width; ++b) {
    const double delta = double{kept.delta[output * record.width + b]};
    double x = 0;
    if (!kept.x.empty())
      x = double{kept.x[input * record.width + b]};
    else if (record.rows[b] >= 0)
      x = feature_of(data, {}, record.rows[b], input);
    result.sum += delta * x;
    result.magnitude += std::fabs(delta * x);
  }
  return result;
}

// Gives loops every core again at the end of a test.
struct ThreadsRestored {
  ThreadsRestored() = default;
  ThreadsRestored(const ThreadsRestored&) = delete;
  ThreadsRestored& operator=(const ThreadsRestored&) = delete;
  ~ThreadsRestored() { set_threads(0); }
};

}  // namespace filigree::internal
