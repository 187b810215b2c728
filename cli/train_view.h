// SPDX-License-Identifier: Apache-2.0
// What a training run shows: a table of epochs on standard output, a live line on standard error.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "filigree/train.h"

namespace filigree::cli {

class TrainView {
 public:
  TrainView(bool quiet, bool tested_every_epoch, Task task);
  ~TrainView();
  TrainView(const TrainView&) = delete;
  TrainView& operator=(const TrainView&) = delete;

  TrainObserver observer(std::stop_token stop);

 private:
  void show(const StepReport& step);
  void show(const EpochReport& epoch);
  void clear();

  Task task_;
  bool quiet_, tested_, terminal_;
  bool headed_ = false, drawn_ = false;
  double shown_at_;
};

std::string shape_text(const std::vector<Index>& network);  // "784-256-10"
nlohmann::json to_json(const EpochReport& epoch, Task task);
// How right the network is, how large and how sparse.
void print_outcome(const Common& common, const TrainRun& run, const Data& data);

}  // namespace filigree::cli
