// SPDX-License-Identifier: Apache-2.0
// Connections that live and die together: neurons, square blocks, and at most n of m inputs in a row.
#pragma once

#include <cstdint>
#include <vector>

#include "train/rules/rule.h"

namespace filigree::internal {

// Which groups a connection belongs to. Structure::neurons: an input or a hidden neuron is all its
// connections, both ways, so a connection belongs to one or two; outputs of the network are no group.
// Structure::blocks: `group_size` outputs × `group_size` inputs of a layer, the last ones of a layer smaller.
class Grouping {
 public:
  static constexpr std::uint32_t kNone = ~0u;
  struct Pair {
    std::uint32_t first = kNone, second = kNone;
  };

  Grouping(const std::vector<TrainLayer>& layers, const TrainOptions& options);

  std::size_t count() const { return level_.size(); }
  // Of a connection of layer l.
  Pair of(std::size_t l, std::size_t output, std::size_t input) const;
  // Where a group belongs: the neurons' layer (0: the inputs), or the layer of the block. On each level as
  // many neurons stay as there are classes, or as many blocks as hold those, so that none is cut through.
  std::size_t level(std::uint32_t group) const { return level_[group]; }

 private:
  bool neurons_;
  std::size_t size_;
  std::vector<std::uint32_t> first_;  // group of each level
  std::vector<std::size_t> across_;   // blocks: groups side by side in a layer
  std::vector<std::uint32_t> level_;  // of each group
  std::size_t layers_;
};

// The proximal step of shrink · Σ √size · norm + time_weight · T, of length `step`: every group's weights are
// multiplied by 1 - step · shrink · √size / norm, and the group is zero exactly where that is not above zero,
// or where what is left is not worth its share of T, the predicted time of the network over that of the
// first. With Structure::n_of_m the weights beyond the n largest of each m move towards zero by step ·
// shrink.
void shrink_groups(std::vector<TrainLayer>& layers, const TrainOptions& options, double step);

}  // namespace filigree::internal
