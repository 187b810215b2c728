// SPDX-License-Identifier: Apache-2.0
// Settings behind one word.
#pragma once

#include <string>

#include "filigree/options.h"

namespace filigree {

// "ertl", "best", "fast". Throws std::invalid_argument on another name.
FILIGREE_PUBLIC TrainOptions preset_options(const std::string& name);

}  // namespace filigree
