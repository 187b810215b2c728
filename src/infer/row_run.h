// Few rows at a time, one after the other: a panel's 32 places would be mostly empty.
#pragma once

#include <atomic>
#include <mutex>

#include "infer/dense_run.h"
#include "kernels/row_pass.h"

namespace filigree {

// A plan's layers by input.
class RowPlan {
 public:
  explicit RowPlan(const ResidentPlan& plan);
  std::size_t bytes() const;
  // The same outputs as run_dense, bit for bit. Without `skip` neurons that are zero are computed with, too.
  void run(std::size_t rows, PanelLoader& loader, const OutputMap& map, std::span<float> outputs,
           bool skip = true) const;

 private:
  struct RowLayer {
    std::shared_ptr<const PlanLayer> plan;
    RowMatrix weights;
  };
  std::vector<RowLayer> layers_;
  std::size_t widest_ = 0;  // inputs, and outputs as they are padded
};

// A plan run in the way that is faster for as many rows as there are. The first call of few rows makes the
// layers by input and times both ways on its own rows; which way is taken changes no bit of the outputs.
class AdaptiveRun {
 public:
  void operator()(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
                  const OutputMap& map, std::span<float> outputs, const Observer& observer);
  std::size_t bytes() const { return ready_ ? by_row_->bytes() : 0; }
  // Rows from which on panels are faster; 0: not known yet.
  std::size_t break_even() const { return ready_ ? break_even_ : 0; }

 private:
  void prepare(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
               const OutputMap& map, std::span<float> outputs);

  std::once_flag once_;
  std::atomic<bool> ready_ = false;
  std::unique_ptr<RowPlan> by_row_;
  std::size_t break_even_ = 0;
};

}  // namespace filigree
