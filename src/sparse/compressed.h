// SPDX-License-Identifier: Apache-2.0
// What CSR and CSC share: the soundness of offsets and of the sorted indices between them.
#pragma once

#include <span>
#include <string_view>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// The arrays of a compressed matrix, with the words an error message calls them by.
struct CompressedArrays {
  std::string_view line, cross;  // "row" and "column" in CSR, "column" and "row" in CSC
  Index lines = 0, bound = 0;    // how many lines; cross indices lie in [0, bound)
  std::span<const Offset> begin;
  std::span<const Index> index;
};

// Throws Error where a size is negative, offsets do not rise from 0 to the number of indices, or the
// indices of a line are out of range or not strictly increasing. `what` names the matrix.
void validate_compressed(const CompressedArrays& arrays, std::string_view what);

}  // namespace filigree::internal
