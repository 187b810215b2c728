// SPDX-License-Identifier: Apache-2.0
#include "network/layer_source.h"

#include <algorithm>

#include "base/error.h"

namespace filigree::internal {

namespace {

std::vector<LayerPointer> validated(std::vector<Layer> layers, const std::string& description) {
  std::vector<LayerPointer> pointers;
  pointers.reserve(layers.size());
  for (Layer& layer : layers) {
    validate(layer, fmt::format("{}: layer {}", description, pointers.size() + 1));
    pointers.push_back(std::make_shared<const Layer>(std::move(layer)));
  }
  return pointers;
}

}  // namespace

MemoryLayers::MemoryLayers(std::vector<LayerPointer> layers, std::string description)
    : layers_(std::move(layers)), description_(std::move(description)) {
  if (layers_.empty()) fail("{}: no layers", description_);
  for (std::size_t l = 1; l < layers_.size(); ++l)
    if (layers_[l]->inputs() != layers_[l - 1]->outputs())
      fail("{}: layer {} reads {} neurons, but layer {} has {}", description_, l + 1, layers_[l]->inputs(), l,
           layers_[l - 1]->outputs());
}

MemoryLayers::MemoryLayers(std::vector<Layer> layers, std::string description)
    : MemoryLayers(validated(std::move(layers), description), description) {}

Index MemoryLayers::width(Index level) const {
  return level == 0 ? layers_.front()->inputs() : layers_[level - 1]->outputs();
}

bool MemoryLayers::mixes() const {
  return std::ranges::any_of(layers_, [](const LayerPointer& layer) { return layer->gate.has_value(); });
}

bool MemoryLayers::keeps_zero() const {
  return std::ranges::all_of(layers_, [](const LayerPointer& layer) { return zero_stays_zero(*layer); });
}

}  // namespace filigree::internal
