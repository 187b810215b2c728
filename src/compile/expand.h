// SPDX-License-Identifier: Apache-2.0
// The way back from a compiled network: its own inputs and outputs again, no maps.
#pragma once

#include "network/network.h"

namespace filigree::internal {

// Computes the same from the outer inputs to the outer outputs. Inputs that are not read have no connections;
// outputs that are constant have a bias alone. A network without maps stays as it is.
Network expanded(const Network& network);

}  // namespace filigree::internal
