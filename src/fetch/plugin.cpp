// SPDX-License-Identifier: Apache-2.0
// filigree-fetch.so.
#include "base/plugin.h"
#include "filigree/fetch.h"

FILIGREE_PLUGIN(reinterpret_cast<const void*>(&filigree::fetch))
