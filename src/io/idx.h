// SPDX-License-Identifier: Apache-2.0
// idx files, as MNIST uses them: arrays of unsigned bytes with 1 to 4 dimensions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "io/source.h"

namespace filigree::internal {

struct IdxArray {
  std::vector<std::uint32_t> dims;
  std::vector<std::uint8_t> data;  // product of dims, last dimension fastest
  bool operator==(const IdxArray&) const = default;
};

// Also finds PATH.gz and PATH.zst.
IdxArray read_idx(const std::filesystem::path& path);
IdxArray read_idx(Source source);
void write_idx(const std::filesystem::path& path, const IdxArray& array);

}  // namespace filigree::internal
