// SPDX-License-Identifier: Apache-2.0
// Which inputs end non-zero: the question of the Graph Challenge, answered exactly.
#pragma once

#include <memory>

#include "infer/executor.h"

namespace filigree::internal {

// A network prepared for category runs.
struct CategoryPlan {
  std::unique_ptr<PlanSource> compiled;  // null: run `ordered` alone
  std::vector<Index> input_of;           // for `compiled`
  std::unique_ptr<PlanSource>
      ordered;            // adds in the original order: the original layers, or make_ordered_layer()'s
  bool monotone = false;  // no weight is negative, every bias is: see below
};

// Makes both plans ready for runs on a device (see DeviceExecutor::prepare).
void prepare(const CategoryPlan& plan, DeviceExecutor& device);

struct CategoryResult {
  RunResult run;            // run.live: the categories
  Offset settled_rows = 0;  // rows that the original order of summation settled
};

// What "exact" means. The plain engine adds each neuron's products in the order of its inputs; a compiled
// network adds them in another order and rounds differently, and for a row near an unstable fixed point of
// the network (2·0.3 − 0.3 in the challenge) the last bit decides whether it lives. So the compiled engine
// never trusts one run. The challenge's networks are monotone: no weight is negative, no bias positive, relu
// rises. Then a run whose sums are all multiplied by 1 + slack bounds the plain run from above, and one with
// 1 − slack from below, slack being the largest relative difference two orders of summation can make. So:
//   1. all rows, from above, through the first layers: a row that dies is dead;
//   2. those left, from below, through all layers: a row that lives to the end is alive;
//   3. those left (some that die a little later, and the few on the edge) in the original order, which
//   decides.
// A network that is not monotone, or inputs below zero, run on the ordered network alone, which is exact as
// well. All this is about sums within float's range: where one overflows, orders differ in more than
// rounding. options.depth, .output and .bracket must be left alone.
CategoryResult find_categories(const CategoryPlan& plan, const InputRows& inputs, const RunOptions& options,
                               const Observer& observer);

}  // namespace filigree::internal
