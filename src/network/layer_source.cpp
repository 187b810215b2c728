// SPDX-License-Identifier: Apache-2.0
#include "network/layer_source.h"

#include <algorithm>

#include "base/error.h"

namespace filigree {

MemoryLayers::MemoryLayers(std::vector<Layer> layers, std::string description)
    : layers_(std::move(layers)), description_(std::move(description)) {
  if (layers_.empty()) fail("{}: no layers", description_);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    validate(layers_[l], fmt::format("{}: layer {}", description_, l + 1));
    if (l > 0 && layers_[l].inputs() != layers_[l - 1].outputs())
      fail("{}: layer {} reads {} neurons, but layer {} has {}", description_, l + 1, layers_[l].inputs(), l,
           layers_[l - 1].outputs());
  }
}

bool MemoryLayers::mixes() const {
  return std::ranges::any_of(layers_, [](const Layer& layer) { return layer.gate.has_value(); });
}

bool MemoryLayers::keeps_zero() const {
  return std::ranges::all_of(layers_, zero_stays_zero);
}

}  // namespace filigree
