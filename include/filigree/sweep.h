// SPDX-License-Identifier: Apache-2.0
// Is a large sparse network better than a small dense one with as many weights? The experiment of the
// survey's hypothesis, over a range of budgets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filigree/train.h"

#pragma GCC visibility push(default)
namespace filigree {

struct SweepOptions {
  TrainOptions training = {};        // `network` is the large one that is sparse; seeds count from `seed` on
  std::vector<Offset> budgets = {};  // weights, ascending
  int seeds = 3;
};

struct SweepPoint {
  Offset budget = 0;
  bool dense = false;
  std::uint64_t seed = 0;
  std::vector<Index> network = {};
  Offset connections = 0;  // the same for dense and sparse; a row takes twice as many operations
  double accuracy = 0;     // test
  double seconds = 0;
};

struct SweepMean {
  Offset connections = 0;
  double dense = 0, sparse = 0;            // mean accuracy
  double dense_half = 0, sparse_half = 0;  // half of the 95 % confidence interval of the mean; 0 for one seed
};

struct SweepResult {
  std::vector<SweepPoint> points;
  std::vector<SweepMean> means;  // per budget
  // Weights from which on dense is no worse, between two budgets; empty if sparse wins (or loses) everywhere.
  std::optional<double> crossing;
  std::string sentence;
};

// The dense network of a budget has as many hidden layers as the large one, all of one width: the widest that
// has no more weights. The sparse one is given exactly as many. Files: sweep.csv after each run, sweep.svg,
// config.toml and sweep.json. Runs that sweep.csv has are not repeated. Throws Cancelled after a stop.
SweepResult sweep(const Data& data, const SweepOptions& options, const RunDirectory& directory,
                  const Observer& observer = {});

// Budgets that double from the weights of a dense network of two neurons a layer on, up to those of the large
// network.
std::vector<Offset> default_budgets(const TrainOptions& options);

struct SweepStart {
  DataOptions data = {};
  SweepOptions options = {};
};
SweepStart read_sweep_start(const std::filesystem::path& directory);

}  // namespace filigree
#pragma GCC visibility pop
