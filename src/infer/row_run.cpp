// SPDX-License-Identifier: Apache-2.0
#include "infer/row_run.h"

#include <algorithm>

#include "base/median.h"
#include "base/system.h"
#include "kernels/activation.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;
constexpr Index kMostOutputs = 65536;             // of lists, whose outputs are 16-bit
constexpr Offset kMostWeights = Offset{1} << 31;  // places of weights are 32-bit
constexpr std::size_t kCallsWorthACopy = 4;       // of few rows, before the layers are made by input, too

constexpr std::size_t kTrials = 8;  // of each way; different rows, because processors learn to guess the same

}  // namespace

bool RowPlan::possible(const ResidentPlan& plan) {
  for (Index l = 0; l < plan.layers(); ++l)
    if (plan.layer(l)->outputs() > kMostOutputs || plan.layer(l)->weights.nnz > kMostWeights) return false;
  return true;
}

RowPlan::RowPlan(const ResidentPlan& plan) {
  widest_ = plan.inputs();
  for (Index l = 0; l < plan.layers(); ++l) {
    std::shared_ptr<const PlanLayer> layer = plan.layer(l);
    RowMatrix weights = row_matrix(unpack(layer->weights));
    widest_ = std::max(widest_, weights.padded_rows());
    layers_.push_back({std::move(layer), std::move(weights)});
  }
}

std::size_t RowPlan::bytes() const {
  std::size_t sum = 0;
  for (const RowLayer& layer : layers_) sum += layer.weights.bytes();
  return sum;
}

void RowPlan::run(std::size_t rows, PanelLoader& loader, const OutputMap& map, const OutputRows& outputs,
                  bool skip) const {
  Buffer<float> x(widest_), y(widest_);
  Buffer<std::uint32_t> active(widest_);
  for (std::size_t r = 0; r < rows; ++r) {
    loader.load_row(r, x.data());
    for (const RowLayer& layer : layers_) {
      const PlanLayer& plan = *layer.plan;
      row_pass(layer.weights, {plan.bias, plan.activation, 1.0f}, x.data(), y.data(), active.data(), skip);
      if (!plan.activation.in_epilogue())
        apply_activation(plan.activation, {y.data(), static_cast<std::size_t>(plan.outputs())});
      std::swap(x, y);
    }
    float* const to = outputs.row(r, map.output_of.size());
    for (std::size_t o = 0; o < map.output_of.size(); ++o)
      to[o] = map.output_of[o] < 0 ? map.constant[o] : x[map.output_of[o]];
  }
}

std::size_t AdaptiveRun::bytes() const {
  const std::lock_guard lock(trying_);
  return by_row_ == nullptr ? 0 : by_row_->bytes();
}

std::optional<std::size_t> AdaptiveRun::most_rows() const {
  return decided_ ? std::optional(most_rows_) : std::nullopt;
}

std::shared_ptr<const RowPlan> AdaptiveRun::next(const ResidentPlan& plan, std::size_t rows) {
  if (rows == 0 || rows >= kLanes) return nullptr;
  if (decided_) return rows <= most_rows_ ? by_row_ : nullptr;
  const std::lock_guard lock(trying_);
  if (by_row_ == nullptr) {
    if (++small_calls_ <= kCallsWorthACopy) return nullptr;
    if (!RowPlan::possible(plan)) {
      decided_ = true;
      return nullptr;
    }
    by_row_ = std::make_shared<RowPlan>(plan);
  }
  return row_seconds_.size() < panel_seconds_.size() ? by_row_ : nullptr;
}

void AdaptiveRun::note(bool by_row, double seconds) {
  const std::lock_guard lock(trying_);
  if (by_row_ == nullptr || decided_) return;
  (by_row ? row_seconds_ : panel_seconds_).push_back(seconds);
  if (row_seconds_.size() < kTrials || panel_seconds_.size() < kTrials) return;
  const double rows = median(panel_seconds_) / median(row_seconds_);
  most_rows_ = static_cast<std::size_t>(std::min(rows, static_cast<double>(kLanes - 1)));
  if (most_rows_ == 0) by_row_ = nullptr;
  decided_ = true;
}

void AdaptiveRun::operator()(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
                             const OutputMap& map, const OutputRows& outputs, const Observer& observer) {
  const std::shared_ptr<const RowPlan> by_row = next(plan, rows);
  const double start = seconds_now();
  if (by_row != nullptr) {
    observer.check_stop();
    by_row->run(rows, *make_loader(), map, outputs);
  } else {
    run_dense(plan, rows, make_loader, map, outputs, observer);
  }
  if (!decided_ && rows > 0 && rows < kLanes)
    note(by_row != nullptr, (seconds_now() - start) / (by_row != nullptr ? rows : 1));
}

}  // namespace filigree::internal
