// SPDX-License-Identifier: Apache-2.0
// What public products check before they begin.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>

namespace filigree::internal {

// Throws std::invalid_argument: "spmv: x holds 3 values, not 4".
inline void require_size(const char* product, const char* name, std::size_t found, std::size_t wanted) {
  if (found != wanted)
    throw std::invalid_argument(fmt::format("{}: {} holds {} values, not {}", product, name, found, wanted));
}

}  // namespace filigree::internal
