// SPDX-License-Identifier: Apache-2.0
#include "network/network.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "io/message_text.h"
#include "network/challenge.h"
namespace filigree::internal {

namespace {

void check_map(const std::string& name, const char* map, std::span<const Index> to, Index end) {
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i] < -1 || to[i] >= end)
      fail("{}: {}[{}] is {}, but there are {} neurons", name, map, i, to[i], end);
}

void check_scaling(const std::string& name, const char* part, std::span<const float> values, Index inputs) {
  if (values.size() > 1 && values.size() != static_cast<std::size_t>(inputs))
    fail("{}: {} holds {} values for {} inputs", name, part, values.size(), inputs);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) fail("{}: {}[{}] is {}", name, part, i, values[i]);
}

void check_exits(const std::string& name, const Network::Parts& parts) {
  const LayerSource& layers = *parts.layers;
  for (const ExitHead& exit : parts.exits) {
    if (exit.after < 1 || exit.after >= layers.layers())
      fail("{}: an exit behind layer {} of {}", name, exit.after, layers.layers());
    validate(exit.layer, fmt::format("{}: the exit behind layer {}", name, exit.after));
    const Index width = layers.width(exit.after);
    if (exit.layer.inputs() != width || exit.layer.outputs() != parts.outputs())
      fail("{}: the exit behind layer {} is {} to {} neurons, but must be {} to {}", name, exit.after,
           exit.layer.inputs(), exit.layer.outputs(), width, parts.outputs());
  }
}

void check_output_names(const std::string& name, const NetworkFacts& facts, Index outputs) {
  const std::vector<std::string>& names = facts.output_names;
  if (names.empty()) return;
  const bool two_by_one = outputs == 1 && names.size() == 2 && facts.loss == Loss::binary_cross_entropy;
  if (names.size() != static_cast<std::size_t>(outputs) && !two_by_one)
    fail("{}: output.names holds {} names for {} outputs", name, names.size(), outputs);
  std::vector<std::string_view> sorted(names.begin(), names.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail("{}: two outputs are called {}", name, in_quotes(*twice));
}

Network::Parts checked(Network::Parts parts) {
  const std::string name = parts.layers->describe();
  const PortMap& ports = parts.ports;
  if (ports.input_of.empty() != ports.output_of.empty() ||
      ports.output_of.size() != ports.output_constant.size())
    fail("{}: input_of, output_of and output_constant come together", name);
  check_map(name, "input_of", ports.input_of, parts.layers->inputs());
  check_map(name, "output_of", ports.output_of, parts.layers->outputs());
  if (!ports.empty() && (parts.layers->mixes() || !parts.exits.empty()))
    fail("{}: a compiled network has neither gates nor exits", name);
  if (parts.inputs() < 1) fail("{}: the network has no inputs", name);
  if (parts.outputs() < 1) fail("{}: the network has no outputs", name);
  check_scaling(name, "input.mean", parts.facts.scaling.mean, parts.inputs());
  check_scaling(name, "input.scale", parts.facts.scaling.scale, parts.inputs());
  check_exits(name, parts);
  check_output_names(name, parts.facts, parts.outputs());
  const std::size_t names = parts.facts.input_names.size();
  if (names > 0 && names != static_cast<std::size_t>(parts.inputs()))
    fail("{}: {} names for {} inputs", name, names, parts.inputs());
  Offset inputs = 0;
  for (const InputColumn& each : parts.facts.columns) inputs += each.inputs();
  if (!parts.facts.columns.empty() && inputs != parts.inputs())
    fail("{}: {} columns that make {} inputs, but the network has {}", name, parts.facts.columns.size(),
         inputs, parts.inputs());
  return parts;
}

}  // namespace

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

Task task_of(const NetworkFacts& facts, Index outputs) {
  switch (facts.loss.value_or(Loss::cross_entropy)) {
    case Loss::cross_entropy:
    case Loss::mse:
      return Task::classes;
    case Loss::binary_cross_entropy:
      return outputs == 1 && facts.output_names.size() == 2 ? Task::classes : Task::labels;
    case Loss::squared:
    case Loss::absolute:
    case Loss::huber:
      return Task::values;
  }
  return Task::classes;
}

Index Network::Parts::inputs() const {
  return ports.empty() ? layers->inputs() : static_cast<Index>(ports.input_of.size());
}

Index Network::Parts::outputs() const {
  return ports.empty() ? layers->outputs() : static_cast<Index>(ports.output_of.size());
}

Network::Parts Network::Parts::with(std::vector<LayerPointer> changed, std::string description) const {
  Parts parts = *this;
  parts.layers = std::make_shared<MemoryLayers>(std::move(changed), std::move(description));
  return parts;
}

Network::Parts Network::Parts::with(std::vector<Layer> changed, std::string description) const {
  Parts parts = *this;
  parts.layers = std::make_shared<MemoryLayers>(std::move(changed), std::move(description));
  return parts;
}

Network::Network(Parts parts) : parts_(std::make_shared<const Parts>(checked(std::move(parts)))) {}

Task Network::task() const {
  return task_of(facts(), outputs());
}

Index Network::inputs() const {
  return parts_->inputs();
}
Index Network::outputs() const {
  return parts_->outputs();
}
Index Network::layers() const {
  return parts_->layers->layers();
}

Index Network::width(Index level) const {
  if (level < 0 || level > layers())
    throw std::invalid_argument(fmt::format("level {} of {} layers", level, layers()));
  return parts_->layers->width(level);
}

std::string Network::describe() const {
  return parts_->layers->describe();
}
bool Network::compiled() const {
  return !parts_->ports.empty();
}
const NetworkFacts& Network::facts() const {
  return parts_->facts;
}

std::vector<ExitInfo> Network::exits() const {
  std::vector<ExitInfo> infos;
  for (const ExitHead& exit : parts_->exits) infos.push_back({exit.after, exit.layer.weights.nnz()});
  return infos;
}

namespace {

// Of matrices and biases that live as long as `kept`.
LayerView view_of(const CsrMatrix& w, std::span<const float> bias, ActivationFunction activation,
                  std::shared_ptr<const void> kept) {
  LayerView view;
  view.inputs = w.cols;
  view.outputs = w.rows;
  view.row_begin = w.row_begin;
  view.column = w.column;
  view.value = w.value;
  view.bias = bias;
  view.activation = activation;
  view.kept = std::move(kept);
  return view;
}

}  // namespace

LayerView Network::layer(Index l) const {
  if (l < 0 || l >= layers()) throw std::invalid_argument(fmt::format("layer {} of {}", l + 1, layers()));
  const LayerPointer layer = parts_->layers->layer(l);
  LayerView view = view_of(layer->weights, layer->bias, layer->activation, layer);
  view.outputs = layer->outputs();
  view.experts = layer->experts();
  view.active_experts = layer->gate ? layer->gate->active : 1;
  return view;
}

LayerView Network::gate(Index l) const {
  if (l < 0 || l >= layers()) throw std::invalid_argument(fmt::format("layer {} of {}", l + 1, layers()));
  const LayerPointer layer = parts_->layers->layer(l);
  if (!layer->gate) throw std::invalid_argument(fmt::format("layer {} is no mixture of experts", l + 1));
  return view_of(layer->gate->weights, layer->gate->bias, Activation::identity, layer);
}

LayerView Network::exit(Index e) const {
  const std::vector<ExitHead>& heads = parts_->exits;
  if (e < 0 || static_cast<std::size_t>(e) >= heads.size())
    throw std::invalid_argument(fmt::format("exit {} of {}", e + 1, heads.size()));
  const Layer& head = heads[e].layer;
  return view_of(head.weights, head.bias, head.activation, parts_);
}

Network make_network(std::vector<LayerArrays> layers, const NetworkFacts& facts) {
  std::vector<Layer> made;
  made.reserve(layers.size());
  for (LayerArrays& l : layers)
    made.push_back({{l.outputs, l.inputs, std::move(l.row_begin), std::move(l.column), std::move(l.value)},
                    std::move(l.bias),
                    l.activation});
  Network::Parts parts;
  parts.facts = facts;
  return Network(parts.with(std::move(made), "network in memory"));
}

Network radix_net(Index neurons, Index layers, std::uint64_t seed) {
  return Network({std::make_shared<RadixNet>(neurons, layers, seed)});
}

}  // namespace filigree

namespace filigree::internal {

std::vector<LayerPointer> all_layers(const Network& network, const Observer& observer) {
  std::vector<LayerPointer> layers;
  const Index count = network.layers();
  for (Index l = 0; l < count; ++l) {
    observer.check_stop();
    observer.report("layers", l, count, "layers");
    layers.push_back(network.parts().layers->layer(l));
  }
  observer.report("layers", count, count, "layers");
  return layers;
}

std::vector<Layer> copied_layers(const Network& network) {
  std::vector<Layer> layers;
  for (Index l = 0; l < network.layers(); ++l) layers.push_back(*network.parts().layers->layer(l));
  return layers;
}

Network with_layers(const Network& network, std::vector<Layer> layers, std::string description) {
  return Network(network.parts().with(std::move(layers), std::move(description)));
}

Offset connections_of(std::span<const LayerPointer> layers) {
  Offset sum = 0;
  for (const LayerPointer& layer : layers) sum += layer->weights.nnz();
  return sum;
}

Offset connections_of(std::span<const Layer> layers) {
  Offset sum = 0;
  for (const Layer& layer : layers) sum += layer.weights.nnz();
  return sum;
}

void require_plain(const Network& network, const char* what) {
  const bool mixes = network.parts().layers->mixes();
  if (mixes || !network.parts().exits.empty())
    fail("{}: {} takes plain networks, but this one has {}", network.describe(), what,
         mixes ? "a mixture of experts" : "exits");
}

}  // namespace filigree::internal
