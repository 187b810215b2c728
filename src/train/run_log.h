// SPDX-License-Identifier: Apache-2.0
// The files of a training run: config.toml, metrics.jsonl, checkpoint.safetensors, model.safetensors.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "io/directory_lock.h"
#include "train/state.h"

namespace filigree::internal {

// Where a run keeps its files.
struct RunFiles {
  std::filesystem::path directory = {};  // empty: none
  bool resume = false;
  bool test_every_epoch = false;
  DataOptions data = {};  // for config.toml
  std::int64_t early_epochs =
      -1;  // the network after so many is kept as early.safetensors; negative: none is
};

// Holds the directory for as long as it lives; every file is written whole or not at all. Of a run without a
// directory there are no files, and the functions do nothing.
class RunLog {
 public:
  // Throws Error if another process holds the directory, if a new run would find one there, or if there is
  // none to resume.
  explicit RunLog(const RunFiles& files);

  // Where a run that is resumed goes on. Throws Error if it was begun with other settings or on other data;
  // warns if sums will be added in another order here.
  TrainState resumed(const TrainOptions& options, const Dataset& data, const TrainObserver& observer) const;

  void begin(const TrainState& state) const;  // settings, and the network as it is now if that is asked for
  void after_epoch(const TrainState& state) const;  // metrics, checkpoint
  void after_stop(const TrainState& state) const;   // the same, within an epoch
  void end(const TrainState& state) const;          // metrics, model

  // Does some work on a state of this data; an error then says where the last good state is, whose network
  // becomes the model.
  void guard(const Dataset& data, const TrainOptions& options, const std::function<void()>& work) const;

 private:
  std::filesystem::path checkpoint() const;
  void write_metrics(const TrainState& state) const;
  void keep_early(const TrainState& state) const;

  const RunFiles& files_;
  std::shared_ptr<const DirectoryLock> lock_;
};

}  // namespace filigree::internal
