// SPDX-License-Identifier: Apache-2.0
#include "train/start.h"

#include <algorithm>

#include "base/error.h"
#include "compile/expand.h"
#include "train/loss.h"
#include "train/topology.h"

namespace filigree::internal {

namespace {

// What the last layer's activation and the loss say together.
Loss loss_of(const Network& network) {
  const LayerView last = network.layer(network.layers() - 1);
  const auto ends_so = [&](Loss loss) { return last.activation.is(output_activation(loss).kind); };
  Loss loss = network.facts().loss.value_or(Loss::cross_entropy);
  if (!network.facts().loss)  // the first that ends as the network does
    for (std::size_t l = 0; l < Words<Loss>::kWords.size() && !ends_so(loss); ++l)
      loss = static_cast<Loss>(l);
  if (!ends_so(loss))
    fail("the last layer's activation is {}, but {} is trained with {}",
         activation_name(last.activation.kind), word(loss), activation_name(output_activation(loss).kind));
  return loss;
}

// `name`: "layer 2".
void check_layer(const Layer& layer, const std::string& name, bool dense) {
  if (layer.gate) fail("{} is a mixture of experts, which is trained from its beginning only", name);
  if (layer.activation.saturates())
    fail("{} is capped at {}, which is not trained", name, layer.activation.cap);
  if (layer.weights.nnz() == 0) fail("{} has no connections", name);
  if (dense && !is_full(layer.weights.view()))
    fail("{} has {} of {} connections, but dense training needs all", name, layer.weights.nnz(),
         static_cast<Offset>(layer.inputs()) * layer.outputs());
  for (const Index neurons : {layer.inputs(), layer.outputs()})
    if (!dense && neurons > kMaxPatternColumns)
      fail("{} is {} to {} neurons; {} is the most", name, layer.inputs(), layer.outputs(),
           kMaxPatternColumns);
}

void check_trainable(const Network& network, const Dataset& data, const TrainOptions& options) {
  const std::vector<LayerPointer> layers = all_layers(network);
  const std::vector<ExitHead>& heads = network.parts().exits;
  for (std::size_t l = 0; l < layers.size(); ++l)
    check_layer(*layers[l], fmt::format("layer {}", l + 1), options.network.dense);
  for (const ExitHead& exit : heads) {
    const std::string name = fmt::format("the exit behind layer {}", exit.after);
    check_layer(exit.layer, name, options.network.dense);
    if (!exit.layer.activation.is(layers.back()->activation.kind))
      fail("{} ends in {}, the network in {}", name, activation_name(exit.layer.activation.kind),
           activation_name(layers.back()->activation.kind));
  }
  std::vector<Index> exits;
  exits.reserve(heads.size());
  for (const ExitHead& exit : heads) exits.push_back(exit.after);
  if (!exits.empty() && !options.network.exits.empty() && options.network.exits != exits)
    fail("the network has exits behind layer {} already, and was to get some behind {}",
         fmt::join(exits, ", "), fmt::join(options.network.exits, ", "));
  if (!options.network.mixtures.empty()) fail("the layers of a network that is there do not become mixtures");
  if (network.inputs() == data.train.features && network.outputs() == data.outputs(loss_of(network)) &&
      network.facts().output_names != data.target_names)
    fail("the network's outputs have other names than the {} of {}", data.describe_targets(), data.name);
}

// Mean and scale of one length.
InputScaling scaling_of(const Network& network, const Dataset& data) {
  InputScaling scaling = network.facts().scaling;
  const std::size_t length = std::max(scaling.mean.size(), scaling.scale.size());
  if (length > 0 && data.train.sparse() && data.indicators.empty())
    fail("the network scales its inputs, but the sparse rows of {} stay as they are", data.name);
  const auto stretch = [&](std::vector<float>& values, float standard) {
    if (values.size() < length) values.resize(length, values.empty() ? standard : values.front());
  };
  stretch(scaling.mean, 0);
  stretch(scaling.scale, 1);
  return scaling;
}

}  // namespace

std::vector<TrainLayer> layers_of(const Network& network, const TrainOptions& options, bool sparse_rows) {
  const std::vector<LayerPointer> sources = all_layers(network);
  std::vector<TrainLayer> layers(sources.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& source = *sources[l];
    TrainLayer& layer = layers[l];
    layer.inputs = source.inputs();
    layer.outputs = source.outputs();
    layer.activation = source.activation;
    layer.dense = options.network.dense;
    layer.by_input = !options.network.dense && (sparse_rows || l > 0);
    layer.threshold = options.evolution.threshold;
    set_connections(layer, source, l > 0);
  }
  return layers;
}

void take_shape(const Network& network, TrainOptions& options) {
  options.learning.loss = loss_of(network);
  options.network.neurons = {network.width(0)};
  options.network.distribution = Distribution::densities;
  options.network.densities.clear();
  double connections = 0, all = 0;
  for (Index l = 0; l < network.layers(); ++l) {
    const LayerView layer = network.layer(l);
    const double capacity = static_cast<double>(layer.inputs) * layer.outputs;
    const double own = layer.value.size();
    options.network.neurons.push_back(layer.outputs);
    options.network.densities.push_back(own / capacity);
    connections += own;
    all += capacity;
  }
  options.network.sparsity = 1 - connections / all;
  const std::vector<ExitHead>& exits = network.parts().exits;
  if (exits.empty()) return;  // it may get some
  options.network.exits.clear();
  connections = all = 0;
  for (const ExitHead& exit : exits) {
    options.network.exits.push_back(exit.after);
    connections += exit.layer.weights.nnz();
    all += static_cast<double>(exit.layer.inputs()) * exit.layer.outputs();
  }
  options.network.exit_density = connections / all;
}

TrainState start_from(const Network& given, const Dataset& data, const TrainOptions& options) {
  const Network network = expanded(given);
  check_trainable(network, data, options);
  TrainState state;
  state.options = options;
  take_shape(network, state.options);
  state.data_fingerprint = fingerprint(data);
  state.facts.scaling = scaling_of(network, data);
  state.layers = layers_of(network, options, data.train.sparse());
  const std::vector<LayerShape> shapes = layout(state.options);
  for (std::size_t l = state.layers.size(); l < shapes.size(); ++l) {
    TrainLayer& exit =
        state.layers.emplace_back(make_layer(state.options, shapes[l], l, data.train.sparse()));
    for (const ExitHead& head : network.parts().exits)
      if (head.after == static_cast<Index>(shapes[l].level)) set_connections(exit, head.layer, true);
  }
  return state;
}

}  // namespace filigree::internal
