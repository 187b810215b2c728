// SPDX-License-Identifier: Apache-2.0
#include "network/challenge.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "io/challenge_files.h"

namespace filigree::internal {

namespace {

LayerPointer challenge_layer(CsrMatrix weights) {
  const std::size_t outputs = weights.rows;
  const float bias = challenge_bias(weights.rows);
  return std::make_shared<const Layer>(
      Layer{std::move(weights), std::vector<float>(outputs, bias), {Activation::relu, kChallengeCap}});
}

}  // namespace

float challenge_bias(Index neurons) {
  return neurons >= 65536 ? -0.45f : neurons >= 16384 ? -0.40f : neurons >= 4096 ? -0.35f : -0.30f;
}

RadixNet::RadixNet(Index neurons, Index layers, std::uint64_t seed)
    : neurons_(neurons), layers_(layers), seed_(seed) {
  if (neurons < 32 || neurons > 65536 || !std::has_single_bit(static_cast<unsigned>(neurons)))
    throw std::invalid_argument(
        fmt::format("a generated network has 32, 64, 128, … or 65536 neurons per layer, not {}", neurons));
  if (layers < 1)
    throw std::invalid_argument(fmt::format("a network has at least one layer, not {}", layers));
}

// With M = N/16 and B = log2 M layers per block: in layer l, input i feeds the outputs congruent to q(i) and
// to q(i) − 2^(l mod B) modulo M, q(i) being i mod M after the block's permutation. So all outputs of one
// residue read the same 32 inputs.
LayerPointer RadixNet::layer(Index l) const {
  const std::size_t neurons = neurons_;
  const std::size_t residues = neurons / 16;
  const Index layers_per_block = std::countr_zero(residues);
  const std::size_t shift = std::size_t{1} << (l % layers_per_block);
  const Index block = l / layers_per_block;

  std::vector<Index> place(neurons);
  std::iota(place.begin(), place.end(), 0);
  if (block > 0) Random(seed_, block).shuffle(std::span(place));

  std::vector<Index> of_residue(neurons);  // 16 inputs of each residue, ascending
  std::vector<std::size_t> filled(residues, 0);
  for (std::size_t i = 0; i < neurons; ++i) {
    const std::size_t q = place[i] % residues;
    of_residue[q * 16 + filled[q]++] = i;
  }

  CsrMatrix w;
  w.rows = w.cols = neurons_;
  w.row_begin.resize(neurons + 1);
  w.column.resize(neurons * kChallengeFanIn);
  w.value.assign(neurons * kChallengeFanIn, kChallengeWeight);
  for (std::size_t j = 0; j <= neurons; ++j) w.row_begin[j] = j * kChallengeFanIn;
  for (std::size_t c = 0; c < residues; ++c) {
    const Index* own = &of_residue[c * 16];
    const Index* other = &of_residue[(c + shift) % residues * 16];
    const auto first = w.column.begin() + static_cast<std::ptrdiff_t>(c * kChallengeFanIn);
    std::merge(own, own + 16, other, other + 16, first);
    for (std::size_t j = c + residues; j < neurons; j += residues)
      std::copy_n(first, kChallengeFanIn,
                  w.column.begin() + static_cast<std::ptrdiff_t>(j * kChallengeFanIn));
  }
  return challenge_layer(std::move(w));
}

std::string RadixNet::describe() const {
  return fmt::format("{}×{} RadiX-Net, seed {}", neurons_, layers_, seed_);
}

ChallengeFiles::ChallengeFiles(std::filesystem::path directory, Index neurons, Index layers)
    : directory_(std::move(directory)), neurons_(neurons), layers_(layers) {
  const Index found = count_layers(directory_, neurons);
  if (found == 0)
    fail("{}: no layer 1 of {} neurons; expected {} or .gz", directory_.string(), neurons,
         layer_path(directory_, neurons, 1).string());
  if (layers_ == 0) layers_ = found;
  if (found < layers_)
    fail("{}: {} layers of {} neurons, but {} are asked for", directory_.string(), found, neurons, layers_);
}

LayerPointer ChallengeFiles::layer(Index l) const {
  const auto path = layer_path(directory_, neurons_, l + 1);
  const auto found = find_file(path);
  if (!found) fail("{}: missing", path.string());
  return challenge_layer(read_layer(*found, neurons_));
}

std::string ChallengeFiles::describe() const {
  return fmt::format("{}×{} from {}", neurons_, layers_, directory_.string());
}

}  // namespace filigree::internal
