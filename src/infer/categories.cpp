#include "infer/categories.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace filigree {

namespace {

// Rows of a without those of b; both ascending.
std::vector<Index> without(const std::vector<Index>& a, const std::vector<Index>& b) {
  std::vector<Index> rest;
  std::ranges::set_difference(a, b, std::back_inserter(rest));
  return rest;
}

}  // namespace

CategoryResult find_categories(const CategoryPlan& plan, const InputRows& inputs, const RunOptions& options,
                               const Observer& observer) {
  CategoryResult result;
  RunOptions plain = options;
  plain.merge_rows = false;
  if (plan.compiled == nullptr) {
    result.run = run(*plan.plain, inputs, {}, {}, plain, observer);
    return result;
  }
  if (plan.always_live) {
    result.run = run(*plan.compiled, inputs, plan.input_of, {}, options, observer);
    result.run.live.resize(static_cast<std::size_t>(inputs.rows));
    std::iota(result.run.live.begin(), result.run.live.end(), 0);
    return result;
  }
  RunOptions above = options;
  if (plan.monotone) above.bracket = Bracket::above;
  result.run = run(*plan.compiled, inputs, plan.input_of, {}, above, observer);

  std::vector<Index>& live = result.run.live;
  std::vector<Index> sure;
  if (plan.monotone && !live.empty()) {
    RunOptions below = options;
    below.bracket = Bracket::below;
    sure = run(*plan.compiled, inputs, plan.input_of, live, below, observer).live;
  }
  const std::vector<Index> open = without(live, sure);
  if (open.empty()) return result;
  result.settled_plain = static_cast<Offset>(open.size());
  const RunResult settled = run(*plan.plain, inputs, {}, open, plain, observer);
  live.clear();
  std::ranges::merge(sure, settled.live, std::back_inserter(live));
  for (std::size_t l = 0; l < settled.live_rows.size(); ++l)
    result.run.live_rows[l] += settled.live_rows[l] - result.settled_plain;
  return result;
}

}  // namespace filigree
