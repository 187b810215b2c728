// SPDX-License-Identifier: Apache-2.0
// spVV: four running sums against a dense vector, a merge against a sparse one.
#include "kernels/spvv.h"

#include "kernels/require_size.h"

namespace filigree {

using namespace internal;

float spvv(const SparseVectorView& a, std::span<const float> x) {
  require_size("spvv", "a.value", a.value.size(), a.index.size());
  float sum[4] = {};  // four chains: one would wait for each addition to finish
  const std::size_t length = a.index.size();
  std::size_t e = 0;
  for (; e + 4 <= length; e += 4) {
    for (std::size_t k = 0; k < 4; ++k) sum[k] += a.value[e + k] * x[a.index[e + k]];
  }
  for (; e < length; ++e) sum[0] += a.value[e] * x[a.index[e]];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

float spvv(const SparseVectorView& a, const SparseVectorView& b) {
  require_size("spvv", "a.value", a.value.size(), a.index.size());
  require_size("spvv", "b.value", b.value.size(), b.index.size());
  float sum = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < a.index.size() && j < b.index.size()) {
    const Index in_a = a.index[i];
    const Index in_b = b.index[j];
    if (in_a == in_b) sum += a.value[i] * b.value[j];
    i += in_a <= in_b;
    j += in_b <= in_a;
  }
  return sum;
}

}  // namespace filigree
