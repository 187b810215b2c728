// SPDX-License-Identifier: Apache-2.0
#include "infer/categories.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "infer/device_executor.h"

namespace filigree::internal {

namespace {

// Rows die early. As long as layers are thin, a row's way to its death is cheap; two layers on, few that will
// die are left, and the rest is better run from below, where living to the end is a proof.
Index first_layers(const PlanSource& plan) {
  constexpr Offset kThin = 8;  // connections per neuron
  Index thin = 0;
  while (thin < plan.layers() && plan.layer(thin)->weights.nnz < kThin * plan.layer(thin)->outputs()) ++thin;
  return std::min(std::max<Index>(thin + 2, 8), plan.layers());
}

// Rows of a without those of b; both ascending.
std::vector<Index> without(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::vector<Index> rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

CategoryResult run_monotone(const CategoryPlan& plan, const InputRows& inputs, const RunOptions& options,
                            const Observer& observer) {
  RunOptions above = options;
  above.bracket = Bracket::above;
  above.depth = first_layers(*plan.compiled);
  CategoryResult result;
  result.run = run(*plan.compiled, inputs, plan.input_of, {}, above, observer);
  const std::vector<Index> left = std::move(result.run.live);
  const std::size_t first = above.depth;
  result.run.live_rows.resize(plan.compiled->layers(), 0);
  result.run.distinct_rows.resize(plan.compiled->layers(), 0);
  if (left.empty()) return result;

  RunOptions below = options;
  below.bracket = Bracket::below;
  RunResult sure = run(*plan.compiled, inputs, plan.input_of, left, below, observer);
  const std::vector<Index> open = without(left, sure.live);
  result.settled_rows = open.size();
  RunResult settled;
  if (!open.empty()) settled = run(*plan.ordered, inputs, {}, open, options, observer);
  std::ranges::merge(sure.live, settled.live, std::back_inserter(result.run.live));
  for (std::size_t l = first; l < result.run.live_rows.size(); ++l) {
    result.run.live_rows[l] =
        static_cast<Offset>(sure.live.size()) + (open.empty() ? 0 : settled.live_rows[l]);
    result.run.distinct_rows[l] = sure.distinct_rows[l] + (open.empty() ? 0 : settled.distinct_rows[l]);
  }
  return result;
}

}  // namespace

void prepare(const CategoryPlan& plan, DeviceExecutor& device) {
  if (plan.compiled != nullptr) device.prepare(*plan.compiled);
  device.prepare(*plan.ordered);
}

CategoryResult find_categories(const CategoryPlan& plan, const InputRows& inputs, const RunOptions& options,
                               const Observer& observer) {
  assert(options.depth == 0 && !options.output && options.bracket == Bracket::none);
  RunOptions plain = options;
  if (plan.compiled == nullptr) plain.merge_rows = false;
  const bool bracketed = plan.compiled != nullptr && plan.monotone && nonnegative(inputs);
  return bracketed ? run_monotone(plan, inputs, options, observer)
                   : CategoryResult{run(*plan.ordered, inputs, {}, {}, plain, observer), 0};
}

}  // namespace filigree::internal
