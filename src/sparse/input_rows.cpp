// SPDX-License-Identifier: Apache-2.0
#include "sparse/input_rows.h"

#include <algorithm>

namespace filigree::internal {

bool nonnegative(const InputRows& inputs) {
  return inputs.binary() || std::all_of(inputs.value.begin(), inputs.value.begin() + inputs.nnz(),
                                        [](float v) { return v >= 0; });
}

}  // namespace filigree::internal
