// SPDX-License-Identifier: Apache-2.0
// What the executor runs: packed layers, from memory or made as they are needed.
#pragma once

#include <memory>
#include <vector>

#include "compile/compile.h"
#include "kernels/packed.h"

namespace filigree::internal {

struct PlanLayer {
  PackedMatrix weights;
  std::vector<float> bias;
  ActivationFunction activation = {};
  bool zero_stays_zero = false;   // see network/layer.h
  bool saturation_stays = false;  // see LayerFacts
  // How far, relative to the sum before the bias, the sum computed here may be from the one computed in the
  // order of the original network: for bracketing (see infer/categories.h).
  float slack = 0;

  Index inputs() const { return weights.cols; }
  Index outputs() const { return weights.rows; }
  std::size_t bytes() const { return weights.bytes() + bias.size() * sizeof(float); }
};

// `facts` are those of the original layer that `layer` stands for.
PlanLayer make_plan_layer(const Layer& layer, const LayerFacts& facts, const PackOptions& options = {});

class PlanSource {
 public:
  virtual ~PlanSource() = default;
  virtual Index layers() const = 0;
  virtual Index inputs() const = 0;     // of the first layer, as the executor sees them
  virtual bool keeps_zero() const = 0;  // every layer's zero_stays_zero
  virtual bool resident() const = 0;    // layer() costs nothing
  virtual std::shared_ptr<const PlanLayer> layer(Index l) const = 0;
};

// All layers in memory.
class ResidentPlan final : public PlanSource {
 public:
  explicit ResidentPlan(std::vector<std::shared_ptr<const PlanLayer>> layers);
  Index layers() const override { return layers_.size(); }
  Index inputs() const override { return layers_.front()->inputs(); }
  bool keeps_zero() const override { return keeps_zero_; }
  bool resident() const override { return true; }
  std::shared_ptr<const PlanLayer> layer(Index l) const override { return layers_[l]; }
  std::size_t bytes() const;

 private:
  std::vector<std::shared_ptr<const PlanLayer>> layers_;
  bool keeps_zero_;
};

// Each layer is fetched and packed when the executor asks for it.
class StreamedPlan final : public PlanSource {
 public:
  explicit StreamedPlan(const LayerSource& source) : source_(source) {}
  Index layers() const override { return source_.layers(); }
  Index inputs() const override { return source_.inputs(); }
  bool keeps_zero() const override { return source_.keeps_zero(); }
  bool resident() const override { return false; }
  std::shared_ptr<const PlanLayer> layer(Index l) const override;

 private:
  const LayerSource& source_;
};

// The original layers, packed as they are. Returns null as soon as they exceed `limit` bytes.
std::unique_ptr<ResidentPlan> plan_as_is(const LayerSource& source, std::size_t limit,
                                         const Observer& observer);

// The layers of a compiled network; each is let go of once it is packed. `facts` are those of the originals.
std::unique_ptr<ResidentPlan> plan_compiled(std::vector<LayerPointer> layers,
                                            std::span<const LayerFacts> facts, const Observer& observer);

// Each distinct neuron of an original layer once, adding its products in the original order: the same bits as
// the original layer, for as many times less work as neurons repeat. `before` holds the distinct rows of the
// layer before, null for the first.
PlanLayer make_ordered_layer(const Layer& layer, const DistinctRows& distinct, const DistinctRows* before,
                             const LayerFacts& facts);

}  // namespace filigree::internal
