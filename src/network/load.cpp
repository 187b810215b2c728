// SPDX-License-Identifier: Apache-2.0
// Networks from files and into them, whatever they are kept in.
#include "base/error.h"
#include "io/challenge_files.h"
#include "network/challenge.h"
#include "network/model_file.h"

namespace filigree {

using namespace internal;

namespace {

// The neurons of the only network that a directory in the official layout holds.
Index only_size(const std::filesystem::path& directory) {
  const std::vector<Index> sizes = challenge_sizes(directory);
  if (sizes.size() == 1) return sizes.front();
  if (sizes.empty())
    fail(
        "{}: neither a model.safetensors nor layers of a challenge (neuronN/nN-l1.tsv) are in this directory",
        directory.string());
  throw std::invalid_argument(fmt::format("{}: holds networks of {} neurons; choose one of them",
                                          directory.string(), fmt::join(sizes, ", ")));
}

}  // namespace

Network load(const std::filesystem::path& path, Index neurons, Index layers) {
  if (neurons < 0 || layers < 0)
    throw std::invalid_argument(fmt::format("{} layers of {} neurons", layers, neurons));
  if (std::filesystem::is_directory(path)) {
    if (neurons == 0 && std::filesystem::exists(path / "model.safetensors"))  // of a training run
      return load(path / "model.safetensors");
    if (neurons == 0) neurons = only_size(path);
    return Network({std::make_shared<ChallengeFiles>(path, neurons, layers)});
  }
  if (neurons != 0 || layers != 0)
    throw std::invalid_argument(
        fmt::format("{} is a model file: it knows its own neurons and layers", path.string()));
  return read_model(path);
}

void save(const Network& network, const std::filesystem::path& path, const Observer& observer) {
  write_model(path, network, observer);
}

std::vector<std::byte> to_bytes(const Network& network) {
  std::vector<std::byte> bytes;
  write_model(bytes, network);
  return bytes;
}

Network from_bytes(std::span<const std::byte> bytes) {
  return read_model(Source(bytes, "model in memory"));
}

}  // namespace filigree
