// SPDX-License-Identifier: Apache-2.0
// Where layers come from: memory, files or a generator.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "network/layer.h"

namespace filigree {

// layer(l) may be called from several threads at once.
class LayerSource {
 public:
  virtual ~LayerSource() = default;
  virtual Index layers() const = 0;
  virtual Index inputs() const = 0;
  virtual bool keeps_zero() const = 0;          // every layer's zero_stays_zero()
  virtual bool mixes() const { return false; }  // some layer is a mixture of experts
  virtual Layer layer(Index l) const = 0;
  virtual std::string describe() const = 0;  // "1024×120 RadiX-Net, seed 1"
};

class MemoryLayers final : public LayerSource {
 public:
  // Throws Error if a layer is unsound or does not fit the one before.
  explicit MemoryLayers(std::vector<Layer> layers, std::string description = "network in memory");
  Index layers() const override { return static_cast<Index>(layers_.size()); }
  Index inputs() const override { return layers_.front().inputs(); }
  bool keeps_zero() const override;
  bool mixes() const override;
  Layer layer(Index l) const override { return layers_[static_cast<std::size_t>(l)]; }
  std::string describe() const override { return description_; }
  const std::vector<Layer>& all() const { return layers_; }

 private:
  std::vector<Layer> layers_;
  std::string description_;
};

}  // namespace filigree
