// SPDX-License-Identifier: Apache-2.0
#include "filigree/network.h"

#include <algorithm>

#include "api/network_impl.h"
#include "base/error.h"
#include "compile/merge_neurons.h"
#include "io/challenge_files.h"
#include "network/challenge.h"
#include "network/model_file.h"

namespace filigree {

namespace {

// The neurons of the only network that a directory in the official layout holds.
Index only_size(const std::filesystem::path& directory) {
  const std::vector<Index> sizes = challenge_sizes(directory);
  if (sizes.size() == 1) return sizes.front();
  if (sizes.empty())
    fail(
        "{}: neither a model.safetensors nor layers of a challenge (neuronN/nN-l1.tsv) are in this directory",
        directory.string());
  throw std::invalid_argument(fmt::format("{}: holds networks of {} neurons; choose one by --neurons",
                                          directory.string(), fmt::join(sizes, ", ")));
}

Network wrap(std::shared_ptr<const LayerSource> source) {
  return Network(std::make_shared<Network::Impl>(Network::Impl{std::move(source), {}, {}, {}}));
}

}  // namespace

Index Network::inputs() const {
  return impl_->input_of.empty() ? impl_->source->inputs() : static_cast<Index>(impl_->input_of.size());
}

Index Network::outputs() const {
  if (!impl_->output_of.empty()) return static_cast<Index>(impl_->output_of.size());
  return impl_->source->layer(impl_->source->layers() - 1).outputs();
}

Index Network::layers() const {
  return impl_->source->layers();
}
std::string Network::describe() const {
  return impl_->source->describe();
}
bool Network::compiled() const {
  return !impl_->input_of.empty();
}

bool Network::scales_inputs() const {
  return !impl_->input_mean.empty() || !impl_->input_scale.empty();
}
std::string Network::loss() const {
  return impl_->loss;
}

std::vector<Index> Network::class_labels() const {
  return impl_->class_label;
}

std::vector<std::string> Network::input_names() const {
  return impl_->origin.feature_names;
}

std::vector<ExitInfo> Network::exits() const {
  std::vector<ExitInfo> infos;
  for (const ExitHead& exit : impl_->exits) infos.push_back({exit.after, exit.layer.weights.nnz()});
  return infos;
}

LayerInfo Network::layer_info(Index l) const {
  if (l < 0 || l >= layers()) throw std::invalid_argument(fmt::format("layer {} of {}", l + 1, layers()));
  Layer layer = impl_->source->layer(l);
  LayerInfo info;
  info.inputs = layer.inputs();
  info.outputs = layer.outputs();
  if (layer.gate) {
    info.experts = layer.experts();
    info.active_experts = layer.gate->active;
    info.gate_connections = layer.gate->weights.nnz();
    layer.gate.reset();  // what follows is of all experts' neurons
  }
  info.connections = layer.weights.nnz();
  info.activation = layer.activation;
  info.distinct_neurons = static_cast<Index>(find_distinct_rows(layer).first.size());
  std::vector<char> read(static_cast<std::size_t>(layer.inputs()), 0);
  for (const Index c : layer.weights.column) read[static_cast<std::size_t>(c)] = 1;
  info.unread_inputs = static_cast<Index>(std::ranges::count(read, 0));
  for (Index r = 0; r < layer.outputs(); ++r) {
    const auto fan_in = static_cast<Index>(layer.weights.view().row_columns(r).size());
    info.smallest_fan_in = r == 0 ? fan_in : std::min(info.smallest_fan_in, fan_in);
    info.largest_fan_in = std::max(info.largest_fan_in, fan_in);
  }
  if (!layer.weights.value.empty()) {
    const auto [smallest, largest] = std::ranges::minmax(layer.weights.value);
    info.smallest_weight = smallest;
    info.largest_weight = largest;
    info.uniform = smallest == largest;
  }
  return info;
}

Network make_network(std::vector<LayerArrays> layers) {
  if (!layers.empty() && layers.front().inputs < 1)
    fail("a network needs inputs, not {}", layers.front().inputs);
  std::vector<Layer> made;
  made.reserve(layers.size());
  for (LayerArrays& l : layers)
    made.push_back({{l.outputs, l.inputs, std::move(l.row_begin), std::move(l.column), std::move(l.value)},
                    std::move(l.bias),
                    l.activation});
  return wrap(std::make_shared<MemoryLayers>(std::move(made)));
}

Network radix_net(Index neurons, Index layers, std::uint64_t seed) {
  return wrap(std::make_shared<RadixNet>(neurons, layers, seed));
}

Network load(const std::filesystem::path& path, Index neurons, Index layers) {
  if (neurons < 0 || layers < 0)
    throw std::invalid_argument(fmt::format("{} layers of {} neurons", layers, neurons));
  if (std::filesystem::is_directory(path)) {
    if (neurons == 0 && std::filesystem::exists(path / "model.safetensors"))  // of a training run
      return load(path / "model.safetensors");
    if (neurons == 0) neurons = only_size(path);
    return wrap(std::make_shared<ChallengeFiles>(path, neurons, layers));
  }
  if (neurons != 0 || layers != 0)
    throw std::invalid_argument(
        fmt::format("{} is a model file: it knows its own neurons and layers", path.string()));
  Model model = read_model(path);
  if (model.layers.front().inputs() == 0 && model.input_of.empty())
    fail("{}: the network has no inputs", path.string());
  if (model.outputs() == 0) fail("{}: the network has no outputs", path.string());
  return from_model(std::move(model), path.string());
}

void require_plain(const Network& network, const char* what) {
  const bool mixes = network.impl().source->mixes();
  if (mixes || !network.impl().exits.empty())
    fail("{}: {} takes plain networks, but this one has {}", network.describe(), what,
         mixes ? "a mixture of experts" : "exits");
}

Network from_model(Model model, const std::string& description) {
  auto source = std::make_shared<MemoryLayers>(std::move(model.layers), description);
  return Network(std::make_shared<Network::Impl>(Network::Impl{
      std::move(source), std::move(model.input_of), std::move(model.output_of),
      std::move(model.output_constant), std::move(model.input_mean), std::move(model.input_scale),
      std::move(model.loss), std::move(model.class_label), std::move(model.exits), std::move(model.origin)}));
}

Model to_model(const Network& network, const Observer& observer) {
  const Network::Impl& impl = network.impl();
  Model model{
      {},        impl.input_of,    impl.output_of, impl.output_constant, impl.input_mean, impl.input_scale,
      impl.loss, impl.class_label, impl.exits,     impl.origin};
  for (Index l = 0; l < network.layers(); ++l) {
    observer.check_stop();
    observer.report("layers", l, network.layers(), "layers");
    model.layers.push_back(impl.source->layer(l));
  }
  observer.report("layers", network.layers(), network.layers(), "layers");
  return model;
}

void save(const Network& network, const std::filesystem::path& path, const Observer& observer) {
  write_model(path, to_model(network, observer));
}

}  // namespace filigree
