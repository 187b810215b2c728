// SPDX-License-Identifier: Apache-2.0
// Few rows at a time, one after the other: a panel's 32 places would be mostly empty.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>

#include "infer/dense_run.h"
#include "kernels/row_pass.h"

namespace filigree::internal {

// A plan's layers by input.
class RowPlan {
 public:
  static bool possible(const ResidentPlan& plan);  // outputs and weights that its numbers hold
  explicit RowPlan(const ResidentPlan& plan);      // one that is
  std::size_t bytes() const;
  // The same outputs as run_dense, bit for bit. Without `skip` neurons that are zero are computed with, too.
  void run(std::size_t rows, PanelLoader& loader, const OutputMap& map, const OutputRows& outputs,
           bool skip = true) const;

 private:
  struct RowLayer {
    std::shared_ptr<const PlanLayer> plan;
    RowMatrix weights;
  };
  std::vector<RowLayer> layers_;
  std::size_t widest_ = 0;  // inputs, and outputs as they are padded
};

// A plan run in the way that is faster for as many rows as there are. The first calls of few rows try both
// ways alternately and are timed; which way is taken changes no bit of the outputs.
class AdaptiveRun {
 public:
  void operator()(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
                  const OutputMap& map, const OutputRows& outputs, const Observer& observer);
  std::size_t bytes() const;
  // The most rows of a call that are taken one by one; nothing while both ways are tried.
  std::optional<std::size_t> most_rows() const;

 private:
  // What to run the next call with; null: panels.
  std::shared_ptr<const RowPlan> next(const ResidentPlan& plan, std::size_t rows);
  void note(bool by_row, double seconds);

  mutable std::mutex trying_;
  std::size_t small_calls_ = 0;
  std::shared_ptr<const RowPlan> by_row_;            // stays as it is once decided
  std::vector<double> panel_seconds_, row_seconds_;  // of a call; of a row
  std::atomic<bool> decided_ = false;
  std::size_t most_rows_ = 0;
};

}  // namespace filigree::internal
