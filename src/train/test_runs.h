// SPDX-License-Identifier: Apache-2.0
// What tests of runs share.
#pragma once

#include <gtest/gtest.h>

#include <map>

#include "filigree/train.h"
#include "io/test_files.h"
#include "train/config.h"
#include "train/test_training.h"
#include "train/training.h"

namespace filigree::internal {

inline TrainOptions options_for(const Dataset& data) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 20, 15, data.classes};
  options.network.sparsity = 0.5;
  options.run.batch = 32;
  options.run.epochs = 3;
  options.evolution.update_every = 3;
  return options;
}

inline RunFiles in(const std::filesystem::path& directory, bool resume = false) {
  RunFiles files;
  files.directory = directory;
  files.resume = resume;
  return files;
}

// Every file and what it holds.
inline std::map<std::string, std::string> contents(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    files[entry.path().filename().string()] = file_content(entry.path());
  return files;
}

// What a report says, times left out.
inline EpochReport timeless(EpochReport report) {
  report.seconds = report.evolve_seconds = report.samples_per_second = 0;
  return report;
}

inline std::vector<std::string> lines_of(const std::vector<EpochReport>& history) {
  std::vector<std::string> lines;
  for (const EpochReport& report : history) lines.push_back(to_json_line(timeless(report), Task::classes));
  return lines;
}

inline void expect_same(const TrainOutcome& a, const TrainOutcome& b) {
  EXPECT_EQ(all_bits(a.state.layers), all_bits(b.state.layers));
  EXPECT_EQ(lines_of(a.state.history), lines_of(b.state.history));
  EXPECT_EQ(a.stopped_early, b.stopped_early);
  EXPECT_EQ(a.test_score, b.test_score);
  EXPECT_EQ(a.test_loss, b.test_loss);
  EXPECT_EQ(a.state.step, b.state.step);
  EXPECT_EQ(a.state.best_epoch, b.state.best_epoch);
}

// Stops again and again after two steps, until there is nothing left to do.
inline TrainOutcome run_in_pieces(const Dataset& data, const TrainOptions& options,
                                  const std::filesystem::path& directory, int& pieces) {
  for (pieces = 1;; ++pieces) {
    std::stop_source stop;
    TrainObserver observer;
    observer.step = [&](const StepReport&) { stop.request_stop(); };
    observer.stop = stop.get_token();
    try {
      return run_training(data, options, in(directory, pieces > 1), observer);
    } catch (const Cancelled&) {
    }
  }
}

}  // namespace filigree::internal
