// Which inputs end non-zero: the question of the Graph Challenge, answered exactly.
#pragma once

#include <memory>

#include "infer/executor.h"

namespace filigree {

// A network compiled for category runs.
struct CategoryPlan {
  std::unique_ptr<PlanSource> compiled;  // null: run the original network as it is
  std::unique_ptr<PlanSource> plain;     // the original layers, packed or streamed
  std::vector<Index> input_of;           // for `compiled`
  bool monotone = false;                 // bracketing is a proof: see below
  bool always_live = false;              // a constant output is not zero
};

struct CategoryResult {
  RunResult run;          // run.live: the categories
  Offset settled_plain = 0;  // rows whose fate rounding decides: settled in the plain order
};

// What "exact" means. The plain engine adds each neuron's products in the order of its inputs; a compiled network
// adds them in another order and rounds differently, and for a row near an unstable fixed point of the network
// (2·0.3 − 0.3 in the challenge) the last bit decides whether it lives. So the compiled engine never trusts one
// run. The challenge's networks are monotone: no weight is negative, no bias positive, relu rises. Then a run whose
// sums are all multiplied by 1 + slack bounds the plain run from above, and one with 1 − slack from below, slack
// being the largest relative difference two orders of summation can make. A row that dies in the run above is
// dead; one that lives in the run below is alive. The few between are run again in the plain order, which decides.
// Networks that are not monotone get one run, and rows that end neither dead nor at the cap are settled in the
// plain order.
CategoryResult find_categories(const CategoryPlan& plan, const InputRows& inputs, const RunOptions& options,
                               const Observer& observer);

}  // namespace filigree
