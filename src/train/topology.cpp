// SPDX-License-Identifier: Apache-2.0
#include "train/topology.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "train/loss.h"

namespace filigree::internal {

namespace {

double weights_of(const TrainOptions& options, std::size_t l) {
  return static_cast<double>(options.network.neurons[l]) * options.network.neurons[l + 1];
}

// Erdős–Rényi: connections in proportion to inputs + outputs, no layer more than full. Layers that would be
// fuller than full are filled, and the rest is shared among the others.
std::vector<double> er_connections(const TrainOptions& options, double total) {
  const std::size_t layers = options.network.neurons.size() - 1;
  std::vector<double> count(layers, 0.0);
  std::vector<bool> full(layers, false);
  for (bool changed = true; changed;) {
    changed = false;
    double left = total, ends = 0;
    for (std::size_t l = 0; l < layers; ++l) {
      if (full[l])
        left -= weights_of(options, l);
      else
        ends += static_cast<double>(options.network.neurons[l]) + options.network.neurons[l + 1];
    }
    for (std::size_t l = 0; l < layers; ++l) {
      count[l] =
          full[l]
              ? weights_of(options, l)
              : left * (static_cast<double>(options.network.neurons[l]) + options.network.neurons[l + 1]) /
                    ends;
      if (!full[l] && count[l] > weights_of(options, l)) full[l] = changed = true;
    }
  }
  return count;
}

// Ertl's placement: the connections are spread evenly over the outputs, and the inputs of each output are cut
// into as many equal ranges as it has connections, with one connection at random in each. Calls place(output,
// input).
template <typename Place>
void place_connections(Index inputs, Index outputs, Offset count, Random& random, const Place& place) {
  const Offset each = count / outputs;
  std::vector<Index> fan_in(outputs, each);
  std::vector<Index> order(outputs);
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span(order));
  for (Offset i = 0; i < count - each * outputs; ++i) ++fan_in[order[i]];
  for (Index o = 0; o < outputs; ++o) {
    const Offset ranges = fan_in[o];
    for (Offset i = 0; i < ranges; ++i) {
      const Offset low = i * inputs / ranges;
      const Offset high = (i + 1) * inputs / ranges;
      place(o, static_cast<Index>(low + static_cast<Offset>(random.below(high - low))));
    }
  }
}

Pattern make_pattern(Index inputs, Index outputs, Offset count, bool by_input, Random& random) {
  Pattern pattern;
  pattern.rows = by_input ? inputs : outputs;
  pattern.cols = by_input ? outputs : inputs;
  std::vector<std::pair<Index, Index>> placed;  // by output, inputs ascending
  placed.reserve(count);
  place_connections(inputs, outputs, count, random, [&](Index o, Index i) { placed.emplace_back(o, i); });
  pattern.row_begin.assign(static_cast<std::size_t>(pattern.rows) + 1, 0);
  for (const auto& [o, i] : placed) ++pattern.row_begin[static_cast<std::size_t>(by_input ? i : o) + 1];
  std::partial_sum(pattern.row_begin.begin(), pattern.row_begin.end(), pattern.row_begin.begin());
  pattern.column.resize(placed.size());
  std::vector<std::uint32_t> cursor(pattern.row_begin.begin(), pattern.row_begin.end() - 1);
  for (const auto& [o, i] : placed)
    pattern.column[cursor[by_input ? i : o]++] = static_cast<std::uint16_t>(by_input ? o : i);
  index_rows(pattern);
  return pattern;
}

// The standard deviation of a new weight.
double deviation(const TrainOptions& options, const TrainLayer& layer, double fan_in) {
  const double density = static_cast<double>(layer.connections()) / layer.capacity();
  const double ends = static_cast<double>(layer.inputs) + layer.outputs;
  switch (options.network.init) {
    case Initial::he:
      return std::sqrt(2.0 / fan_in);  // of the inputs that exist
    case Initial::glorot:
      return std::sqrt(2.0 / (ends * density));
    case Initial::ertl:
      return 2.0 / std::sqrt(ends * density);
  }
  return 0;
}

ActivationFunction hidden_activation(const TrainOptions& options, std::size_t level) {
  const auto slope = static_cast<float>(options.network.slope);
  switch (options.network.activation) {
    case HiddenActivation::relu:
      return Activation::relu;
    case HiddenActivation::leaky_relu:
      return ActivationFunction::leaky(slope);
    case HiddenActivation::all_relu:
      return ActivationFunction::leaky(level % 2 == 1 ? -slope : slope);
    case HiddenActivation::sigmoid:
      return Activation::sigmoid;
    case HiddenActivation::tanh:
      return Activation::tanh;
    case HiddenActivation::softplus:
      return Activation::softplus;
  }
  return Activation::relu;
}

// Per layer, before rounding.
std::vector<double> wanted_connections(const TrainOptions& options, double total) {
  const NetworkOptions& network = options.network;
  std::vector<double> wanted(network.neurons.size() - 1);
  switch (network.distribution) {
    case Distribution::er:
      return er_connections(options, total);
    case Distribution::uniform:
      for (std::size_t l = 0; l < wanted.size(); ++l)
        wanted[l] = weights_of(options, l) * (1 - network.sparsity);
      break;
    case Distribution::densities:
      for (std::size_t l = 0; l < wanted.size(); ++l)
        wanted[l] = weights_of(options, l) * network.densities[l];
      break;
  }
  return wanted;
}

}  // namespace

std::vector<Offset> connections_per_layer(const TrainOptions& options) {
  const std::size_t layers = options.network.neurons.size() - 1;
  double all = 0;
  for (std::size_t l = 0; l < layers; ++l) all += weights_of(options, l);
  const double total = std::round(all * (1 - options.network.sparsity));
  const std::vector<double> wanted = wanted_connections(options, total);
  std::vector<Offset> count(layers);
  double exact = 0;
  Offset placed = 0;  // rounding the running sum keeps the total
  for (std::size_t l = 0; l < layers; ++l) {
    exact += wanted[l];
    // Half a connection may round one way here and the other way in the total.
    if (l + 1 == layers && options.network.distribution != Distribution::densities) exact = total;
    count[l] = std::clamp<Offset>(static_cast<Offset>(std::llround(exact)) - placed, 0,
                                  static_cast<Offset>(weights_of(options, l)));
    placed += count[l];
    if (count[l] == 0)
      fail("a {} of {} leaves layer {} ({} to {} neurons) without connections",
           options.network.distribution == Distribution::densities ? "density" : "sparsity",
           options.network.distribution == Distribution::densities ? options.network.densities[l]
                                                                   : options.network.sparsity,
           l + 1, options.network.neurons[l], options.network.neurons[l + 1]);
  }
  return count;
}

void draw_values(const TrainOptions& options, TrainLayer& layer, std::size_t l) {
  Random random = random_stream(options.run.seed, Stream::values, l);
  std::vector<Index> fan_in(layer.outputs, layer.dense ? layer.inputs : 0);
  if (layer.by_input) {
    for (const std::uint16_t output : layer.pattern.column) ++fan_in[output];
  } else if (!layer.dense) {
    for (std::size_t o = 0; o < fan_in.size(); ++o)
      fan_in[o] = layer.pattern.row_begin[o + 1] - layer.pattern.row_begin[o];
  }
  const auto draw = [&](std::size_t e, std::size_t output) {
    layer.value[e] = static_cast<float>(deviation(options, layer, fan_in[output]) * random.normal());
  };
  if (layer.dense) {
    for (std::size_t e = 0; e < layer.value.size(); ++e) draw(e, e / layer.inputs);
    return;
  }
  for (Index r = 0; r < layer.pattern.rows; ++r)
    for (std::size_t e = layer.pattern.row_begin[r]; e < layer.pattern.row_begin[r + 1]; ++e)
      draw(e, layer.by_input ? layer.pattern.column[e] : r);
}

void check_branches(const TrainOptions& options) {
  const auto hidden = static_cast<Index>(options.network.neurons.size()) - 2;
  const auto check = [&](const char* name, const std::vector<Index>& layers) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i] < 1 || layers[i] > hidden)
        fail("{} names hidden layer {}, but {} has {}", name, layers[i],
             fmt::join(options.network.neurons, "-"), hidden);
      if (i > 0 && layers[i] <= layers[i - 1])
        fail("{} names hidden layer {} after {}: each once, in their order", name, layers[i], layers[i - 1]);
    }
  };
  check("exits", options.network.exits);
  check("mixtures", options.network.mixtures);
}

std::vector<LayerShape> layout(const TrainOptions& options) {
  check_branches(options);
  const std::size_t count = options.network.neurons.size() - 1;
  std::vector<Offset> connections;
  if (options.network.dense)
    for (std::size_t l = 0; l < count; ++l)
      connections.push_back(static_cast<Offset>(weights_of(options, l)));
  else
    connections = connections_per_layer(options);
  std::vector<LayerShape> shapes, gates, exits;
  const auto branch = [&](Index inputs, Index outputs, double density) {
    const double all = static_cast<double>(inputs) * outputs;
    return std::max<Offset>(1, std::llround(options.network.dense ? all : density * all));
  };
  for (std::size_t l = 0; l < count; ++l) {
    const Index inputs = options.network.neurons[l], outputs = options.network.neurons[l + 1];
    if (std::ranges::count(options.network.mixtures, static_cast<Index>(l) + 1) > 0) {
      for (Index e = 0; e < options.network.experts; ++e)
        shapes.push_back({LayerRole::expert, l, inputs, outputs, connections[l]});
      gates.push_back({LayerRole::gate, l, inputs, options.network.experts,
                       branch(inputs, options.network.experts, options.network.gate_density)});
    } else {
      shapes.push_back({LayerRole::chain, l, inputs, outputs, connections[l]});
    }
  }
  for (const Index after : options.network.exits) {
    const Index inputs = options.network.neurons[after], outputs = options.network.neurons.back();
    exits.push_back({LayerRole::exit, static_cast<std::size_t>(after), inputs, outputs,
                     branch(inputs, outputs, options.network.exit_density)});
  }
  shapes.insert(shapes.end(), gates.begin(), gates.end());
  shapes.insert(shapes.end(), exits.begin(), exits.end());
  return shapes;
}

TrainLayer make_layer(const TrainOptions& options, const LayerShape& shape, std::size_t l,
                      bool sparse_inputs) {
  TrainLayer layer;
  layer.inputs = shape.inputs;
  layer.outputs = shape.outputs;
  layer.role = shape.role;
  layer.level = shape.level;
  layer.dense = options.network.dense;
  layer.by_input = !options.network.dense && (sparse_inputs || shape.level > 0);
  layer.threshold = options.evolution.threshold;
  const bool hidden = leads_on(layer) && shape.level + 2 < options.network.neurons.size();
  if (hidden)
    layer.activation = hidden_activation(options, shape.level);
  else
    layer.activation = shape.role == LayerRole::gate ? ActivationFunction(Activation::identity)
                                                     : output_activation(options.learning.loss);
  if (!layer.dense) {
    // Inputs are columns where connections are stored by output, as they are for the way forward.
    if ((!layer.by_input || shape.level > 0) && layer.inputs > kMaxPatternColumns)
      fail("layer {} reads {} neurons; {} is the most", l + 1, layer.inputs, kMaxPatternColumns);
    if (layer.by_input && layer.outputs > kMaxPatternColumns)
      fail("layer {} has {} neurons; {} is the most", l + 1, layer.outputs, kMaxPatternColumns);
    Random random = random_stream(options.run.seed, Stream::topology, l);
    layer.pattern = make_pattern(layer.inputs, layer.outputs, shape.connections, layer.by_input, random);
    if (shape.level > 0) layer.transposed = transpose(layer.pattern);
  }
  layer.value.resize(layer.dense ? layer.capacity() : layer.pattern.nnz());
  layer.transposed_value.resize(layer.transposed.nnz());
  layer.bias.assign(layer.outputs, 0.0f);
  draw_values(options, layer, l);
  // A gate begins with hardly any opinion: an expert that gets nothing at first learns nothing.
  if (layer.role == LayerRole::gate)
    for (float& value : layer.value) value *= 0.1f;
  return layer;
}

std::vector<TrainLayer> make_layers(const TrainOptions& options, bool sparse_inputs, std::size_t slices) {
  std::vector<TrainLayer> layers;
  for (const LayerShape& shape : layout(options)) {
    TrainLayer& layer = layers.emplace_back(make_layer(options, shape, layers.size(), sparse_inputs));
    resize_state(layer, options.learning.optimizer, slices);
    refresh_transposed(layer);
  }
  return layers;
}

}  // namespace filigree::internal
