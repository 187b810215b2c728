// SPDX-License-Identifier: Apache-2.0
// The networks of the Sparse DNN Graph Challenge: their constants, the RadiX-Net generator, the official
// files.
#pragma once

#include <array>
#include <filesystem>

#include "network/layer_source.h"

namespace filigree::internal {

inline constexpr Index kChallengeFanIn = 32;
inline constexpr float kChallengeWeight = 1.0f / 16;
inline constexpr float kChallengeCap = 32.0f;
inline constexpr Index kChallengeInputs = 60000;
inline constexpr std::array<Index, 4> kChallengeNeurons = {1024, 4096, 16384, 65536};
inline constexpr std::array<Index, 3> kChallengeLayers = {120, 480, 1920};

// -0.30, -0.35, -0.40, -0.45 for the official sizes; sizes between take the next smaller one's.
float challenge_bias(Index neurons);

// Neurons and layers may be any that the recipe covers: 16·2^B neurons, 32 to 65536. Each layer is made when
// asked for, from the seed alone: the first block reads the neurons in order, each later block through its
// own random permutation.
class RadixNet final : public LayerSource {
 public:
  // Throws std::invalid_argument on a size outside the recipe.
  RadixNet(Index neurons, Index layers, std::uint64_t seed);
  Index layers() const override { return layers_; }
  Index width(Index) const override { return neurons_; }
  bool keeps_zero() const override { return true; }
  LayerPointer layer(Index l) const override;
  std::string describe() const override;

 private:
  Index neurons_, layers_;
  std::uint64_t seed_;
};

// The official file layout: DIR/neuronN/nN-lK.tsv, plain or compressed.
class ChallengeFiles final : public LayerSource {
 public:
  // `layers` 0: as many as there are. Throws Error if one is missing.
  ChallengeFiles(std::filesystem::path directory, Index neurons, Index layers);
  Index layers() const override { return layers_; }
  Index width(Index) const override { return neurons_; }
  bool keeps_zero() const override { return true; }
  LayerPointer layer(Index l) const override;
  std::string describe() const override;

 private:
  std::filesystem::path directory_;
  Index neurons_, layers_;
};

}  // namespace filigree::internal
