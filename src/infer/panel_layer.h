// SPDX-License-Identifier: Apache-2.0
// One panel through one layer of a plan.
#pragma once

#include "compile/plan.h"
#include "kernels/spmm.h"

namespace filigree::internal {

// x holds layer.inputs() × kPanelRows values, y gets layer.outputs() × kPanelRows. Sums are multiplied by
// `scale` before the bias; `range` is that of the sums with it, before the activation. Rows from `rows` on
// need not be computed.
void run_panel_layer(const PlanLayer& layer, float scale, const float* x, float* y, PanelRange& range,
                     std::size_t rows = kPanelRows);

}  // namespace filigree::internal
