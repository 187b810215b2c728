// npy files, as numpy writes them: arrays of uint8, float32 or float64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "io/source.h"

namespace filigree {

// Last dimension fastest, whichever order the file has. Exactly one of `bytes` and `floats` holds the values,
// unless there are none; float64 is rounded to float32. All values are finite.
struct NpyArray {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  bool operator==(const NpyArray&) const = default;
};

NpyArray read_npy(Source source);

// A matrix of float32; `values` holds whole rows of `columns`.
void write_npy(const std::filesystem::path& path, std::span<const float> values, std::size_t columns);

}  // namespace filigree
