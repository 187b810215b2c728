// SPDX-License-Identifier: Apache-2.0
// In the place of stretch_rows.cpp where FILIGREE_IMAGES is off.
#include "base/error.h"
#include "data/stretch_rows.h"

namespace filigree::internal {

StretchedRows stretch_rows(std::span<const std::uint8_t>, std::size_t, std::size_t, const Observer&) {
  fail(
      "this filigree was built without the challenge's images (FILIGREE_IMAGES is off): use official files, "
      "or "
      "drawn digits");
}

}  // namespace filigree::internal
