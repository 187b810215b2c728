// SPDX-License-Identifier: Apache-2.0
// Runs of which several follow each other in the directory of a larger one.
#pragma once

#include <filesystem>

#include "filigree/train.h"

namespace filigree::internal {

// begin(RunDirectory) makes a new run. If directory.resume and it was begun before, it goes on instead, with
// the settings it was begun with; one that had ended is only evaluated again.
template <typename Begin>
TrainRun begin_or_resume(const Data& data, RunDirectory directory, const Begin& begin,
                         const TrainObserver& observer) {
  if (directory.resume && std::filesystem::exists(directory.path / "checkpoint.safetensors"))
    return train(data, read_config(directory.path / "config.toml").options, directory, observer);
  directory.resume = false;
  return begin(directory);
}

}  // namespace filigree::internal
