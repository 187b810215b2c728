// SPDX-License-Identifier: Apache-2.0
#include "infer/panel_layer.h"

#include "kernels/activation.h"

namespace filigree {

void run_panel_layer(const PlanLayer& layer, float scale, const float* x, float* y, PanelRange& range) {
  // The kernel's epilogue knows relu and identity; the others take another walk over the panel.
  const bool relu = layer.activation == Activation::relu;
  const Epilogue epilogue{layer.bias, relu ? Activation::relu : Activation::identity, layer.cap, scale};
  spmm_panel(layer.weights, epilogue, x, y, range);
  const auto outputs = static_cast<std::size_t>(layer.outputs()) * static_cast<std::size_t>(kPanelRows);
  if (!relu) apply_activation(layer.activation, layer.slope, {y, outputs});
}

}  // namespace filigree
