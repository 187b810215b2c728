// SPDX-License-Identifier: Apache-2.0
// The meaning of spVV, in double: truth must be nearer than any float order.
#include <algorithm>

#include "kernels/spvv.h"

namespace filigree::internal {

float spvv_reference(const SparseVectorView& a, std::span<const float> x) {
  double sum = 0;
  for (std::size_t e = 0; e < a.index.size(); ++e) sum += double{a.value[e]} * x[a.index[e]];
  return sum;
}

float spvv_reference(const SparseVectorView& a, const SparseVectorView& b) {
  double sum = 0;
  for (std::size_t e = 0; e < a.index.size(); ++e) {
    const auto match = std::ranges::find(b.index, a.index[e]);
    if (match != b.index.end()) sum += double{a.value[e]} * b.value[match - b.index.begin()];
  }
  return sum;
}

}  // namespace filigree::internal
