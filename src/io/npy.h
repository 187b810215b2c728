// SPDX-License-Identifier: Apache-2.0
// npy files, as numpy writes them: arrays of numbers, and npz archives of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

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
// An array of an npz archive, as numpy.savez and savez_compressed write it: the only one with two dimensions
// or more, or else the one that is called x, X, data or arr_0.
NpyArray read_npz(Source source);

// A matrix of float32; `values` holds whole rows of `columns`.
void write_npy(const std::filesystem::path& path, std::span<const float> values, std::size_t columns);

}  // namespace filigree::internal
