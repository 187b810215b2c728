// SPDX-License-Identifier: Apache-2.0
// Runs a plan on sparse inputs: panels through many layers, dead rows out, equal rows once, layers streamed.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compile/plan.h"
#include "sparse/bit_panels.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

// Which way rounding is allowed to err: `below` and `above` give bounds on what any order of summation gives.
enum class Bracket { none, below, above };

class DeviceExecutor;

struct RunOptions {
  bool filter = true;       // drop rows that are zero and stay so
  bool merge_rows = false;  // compute equal rows once, and retire rows that are saturated for good
  Bracket bracket = Bracket::none;
  Index depth = 0;                   // only the first so many layers; 0: all
  const BitPanels* bits = nullptr;   // the same inputs as bits, if at hand: runs of all rows read these
  DeviceExecutor* device = nullptr;  // who runs it, in the place of the CPU; `output` must be empty then
  std::size_t memory_limit = std::size_t{16} << 30;  // for streamed layers and the rows between segments
  // Where each row's last activations go (row number, panel, lane), if wanted. Called from several threads;
  // rows that died are not reported. Switches retiring and merging of rows off, because each row's values are
  // wanted.
  std::function<void(Index, const float*, Index)> output = {};
};

struct RunResult {
  std::vector<Index> live;            // rows that end non-zero, ascending
  std::vector<Offset> live_rows;      // per layer: rows that are non-zero after it (in a bracket: may be)
  std::vector<Offset> distinct_rows;  // per layer: rows that were computed to know that
};

// `input_of[c]` is the input of the plan that column c of the rows is added to, -1 for none; empty: itself.
// `rows`: which rows of `inputs` to run, ascending; empty span: all.
RunResult run(const PlanSource& plan, const InputRows& inputs, std::span<const Index> input_of,
              std::span<const Index> rows, const RunOptions& options, const Observer& observer);

// What executors share. Equal rows are looked for after 16, 32, 64, … layers: rows grow alike with depth.
bool is_merge_point(Index layers_done);
// A row that was absorbed ends as the one that stands for it. Chains lead to rows merged later, so each link
// is followed to its end.
Index standing_for(const std::vector<Index>& absorbed_by, Index row);

}  // namespace filigree::internal
