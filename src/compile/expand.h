// SPDX-License-Identifier: Apache-2.0
// The way back from a compiled model: its own inputs and outputs again, no maps.
#pragma once

#include "network/model_file.h"

namespace filigree {

// Computes the same from the outer inputs to the outer outputs. Inputs that are not read have no connections;
// outputs that are constant have a bias alone. A model without maps stays as it is.
Model expanded(const Model& model);

}  // namespace filigree
