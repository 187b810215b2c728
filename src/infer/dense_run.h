// SPDX-License-Identifier: Apache-2.0
// Runs a plan on every row and keeps every output: what predictions need. The executor (executor.h) is for
// rows that die.
#pragma once

#include <span>

#include "compile/plan.h"
#include "infer/panel_loader.h"
#include "kernels/store_panel.h"

namespace filigree::internal {

// `outputs` gets rows × map.output_of.size() values. Threads take panels of kPanelRows rows
// through all layers; progress and stop requests are looked at every few panels.
void run_dense(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
               const OutputMap& map, const OutputRows& outputs, const Observer& observer);

}  // namespace filigree::internal
