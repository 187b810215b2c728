// SPDX-License-Identifier: Apache-2.0
// Where layers come from: memory, files or a generator.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/layer.h"

namespace filigree::internal {

using LayerPointer = std::shared_ptr<const Layer>;

// layer(l) may be called from several threads at once. Widths are known without any layer.
class LayerSource {
 public:
  virtual ~LayerSource() = default;
  virtual Index layers() const = 0;
  virtual Index width(Index level) const = 0;   // neurons after `level` layers; level 0: the inputs
  virtual bool keeps_zero() const = 0;          // every layer's zero_stays_zero()
  virtual bool mixes() const { return false; }  // some layer is a mixture of experts
  virtual LayerPointer layer(Index l) const = 0;
  virtual std::string describe() const = 0;  // "1024×120 RadiX-Net, seed 1"

  Index inputs() const { return width(0); }
  Index outputs() const { return width(layers()); }
};

// layer(l) is the layer itself, without a copy.
class MemoryLayers final : public LayerSource {
 public:
  // Throws Error if a layer is unsound or does not fit the one before.
  explicit MemoryLayers(std::vector<Layer> layers, std::string description = "network in memory");
  // Layers that are sound already: of other networks, or rewritten from those.
  explicit MemoryLayers(std::vector<LayerPointer> layers, std::string description = "network in memory");
  Index layers() const override { return layers_.size(); }
  Index width(Index level) const override;
  bool keeps_zero() const override;
  bool mixes() const override;
  LayerPointer layer(Index l) const override { return layers_[l]; }
  std::string describe() const override { return description_; }

 private:
  std::vector<LayerPointer> layers_;
  std::string description_;
};

}  // namespace filigree::internal
