// SPDX-License-Identifier: Apache-2.0
// For tests: checkpoints that say something else, and add up to their sum all the same.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "io/safetensors.h"
#include "train/state.h"

namespace filigree::internal {

inline void change_checkpoint(const std::filesystem::path& path,
                              const std::function<void(Metadata&)>& change) {
  const TensorFile file = read_safetensors(path);
  Metadata metadata = file.metadata();
  change(metadata);
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : file.tensors())
    views[name] = {tensor.dtype, tensor.shape, std::span<const std::byte>(tensor.bytes)};
  metadata["sum"] = std::to_string(checkpoint_sum(metadata, views));
  write_safetensors(path, metadata, views);
}

}  // namespace filigree::internal
