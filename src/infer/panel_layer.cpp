// SPDX-License-Identifier: Apache-2.0
#include "infer/panel_layer.h"

#include "kernels/activation.h"

namespace filigree::internal {

void run_panel_layer(const PlanLayer& layer, float scale, const float* x, float* y, PanelRange& range,
                     std::size_t rows) {
  spmm_panel(layer.weights, {layer.bias, layer.activation, scale}, x, y, range, rows);
  const auto outputs = static_cast<std::size_t>(layer.outputs()) * kPanelRows;
  if (!layer.activation.in_epilogue()) apply_activation(layer.activation, {y, outputs});
}

}  // namespace filigree::internal
