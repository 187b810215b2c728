// SPDX-License-Identifier: Apache-2.0
// npy files, as numpy writes them: arrays of numbers, and npz archives of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "filigree/sparse.h"
#include "filigree/vocabulary.h"
#include "io/source.h"

namespace filigree::internal {

// Last dimension fastest, whichever order the file has. Exactly one of `bytes` and `floats` holds the values,
// unless there are none; float64 is rounded to float32, integers must fit it exactly. All values are finite.
struct NpyArray {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  bool operator==(const NpyArray&) const = default;
};

NpyArray read_npy(Source source);

// The same for rows of values, row by row: beyond `in_memory` bytes they are kept on disk. An array whose
// first dimension is fastest is turned around in memory.
struct NpyRows {
  std::vector<std::uint64_t> shape;
  Buffer<std::uint8_t> bytes;
  Buffer<float> floats;
};
NpyRows read_npy_rows(Source source, std::uint64_t in_memory);

// Whole numbers, as those that say where the entries of a sparse matrix are.
std::vector<Offset> read_npy_integers(Source source);

// What an npz archive says of rows, as numpy.savez, savez_compressed and scipy.sparse.save_npz write it.
struct NpzTable {
  // The only array with two dimensions or more, or else the one that is called x, X, data or arr_0.
  NpyArray dense;
  // Or a CSR matrix.
  std::vector<Offset> row_begin;
  std::vector<Index> column;  // increasing within a row
  std::vector<float> value;
  Index columns = 0;
  // An array called y, Y, label, labels, target, targets or arr_1.
  std::optional<NpyArray> target;
  bool operator==(const NpzTable&) const = default;

  bool sparse() const { return !row_begin.empty(); }
};
NpzTable read_npz(Source source);

// One matrix: as scipy.sparse.save_npz writes csr, csc, bsr and coo, or the only array of two dimensions.
// With it an array called bias or b, if there is one.
struct NpzMatrix {
  CsrMatrix matrix;
  std::optional<NpyArray> bias;
};
NpzMatrix read_npz_matrix(Source source);
void write_npz_matrix(const std::filesystem::path& path, const CsrView& matrix);  // csr

// A matrix of float32; `values` holds whole rows of `columns`.
void write_npy(const std::filesystem::path& path, std::span<const float> values, std::size_t columns);

}  // namespace filigree::internal
