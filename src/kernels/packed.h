// SPDX-License-Identifier: Apache-2.0
// A sparse matrix repacked for panels: input tiles that stay in L1, outputs grouped by their number of
// connections.
#pragma once

#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "filigree/sparse.h"

namespace filigree::internal {

// Rows (inputs to the network) that travel together. A panel is neuron-major: x[neuron * kPanelRows + row].
// 32: the weight and the index of a connection are loaded once for 32 products; 64 rows halve the neurons
// that fit in L1, 16 leave the two load ports busy with weights (bench kernels).
inline constexpr Index kPanelRows = 32;

// Outputs under way at once, each with inputs of its own. Outputs that share their inputs go by eights, which
// waits less for loads of the inputs; what is left of them makes a group of four to seven, or the last one of
// nine to eleven.
inline constexpr std::size_t kPackedGroup = 4;
inline constexpr std::size_t kWideGroup = 8;
inline constexpr std::size_t kWidestGroup = kWideGroup + kPackedGroup - 1;

struct PackedMatrix {
  // Outputs with the same number of connections in a tile. They come in groups of four whose values alternate
  // (a0 b0 c0 d0 a1 b1 …), so that several chains of additions are under way; the last one to three stand
  // alone. In a shared run the outputs of each group, four to eleven, have the same inputs, which are then
  // stored and loaded once: a dense or block-sparse matrix, or one with repeated patterns, is made of such
  // groups.
  struct Run {
    std::uint32_t connections = 0;
    std::uint32_t outputs = 0;  // a multiple of `shared`, unless that is 0
    std::uint32_t shared = 0;   // outputs of a group that share their inputs; 0: none do
  };
  // A range of inputs. The first and the last tile hold every output, tiles between only those they feed.
  struct Tile {
    Index first_input = 0;
    std::uint32_t runs = 0;
  };

  Index rows = 0, cols = 0;
  Offset nnz = 0;
  float uniform = 0;  // the value of every entry, a power of two, if `value` is empty
  std::vector<Tile> tiles;
  std::vector<Run> runs;
  Buffer<std::uint32_t> output;  // the output of each position in the runs
  Buffer<std::uint16_t> input;   // relative to the tile's first input
  Buffer<float> value;           // empty: uniform

  Offset shared_connections() const;  // of nnz, those in shared runs
  std::size_t bytes() const;
};

struct PackOptions {
  Index tile_inputs = 0;  // 0: chosen by tile_inputs_for() and by how far patterns repeat
};

// Sums keep the order of the columns, whatever the tiles: every packing gives the same bits.
// The matrix must be valid (validate()); if there is one tile, columns may also come in any order and repeat,
// and sums keep that order.
PackedMatrix pack(const CsrView& matrix, const PackOptions& options = {});

// The matrix that was packed, columns ascending if they were.
CsrMatrix unpack(const PackedMatrix& packed);

// Inputs per tile for a matrix of this shape whose patterns do not repeat.
Index tile_inputs_for(Index rows, Index cols, Offset nnz);

}  // namespace filigree::internal
