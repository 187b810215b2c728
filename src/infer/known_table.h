// SPDX-License-Identifier: Apache-2.0
// What a network says about the table that it was trained on.
#pragma once

#include "data/dataset.h"
#include "filigree/network.h"

namespace filigree::internal {

KnownTable known_table(const Network& network);

}  // namespace filigree::internal
