// SPDX-License-Identifier: Apache-2.0
// The SIMD body of SDDMM, compiled once per target.
#if defined(FILIGREE_KERNELS_SDDMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_SDDMM_INL_H_
#undef FILIGREE_KERNELS_SDDMM_INL_H_
#else
#define FILIGREE_KERNELS_SDDMM_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "filigree/sparse.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // one .cpp compiles this

namespace hn = hwy::HWY_NAMESPACE;

// The dot product of what is left from i on in vectors of D's width; moves i behind it.
template <class D>
float dot_vectors(D d, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::size_t length,
                  std::size_t& i) {
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(d);
  for (; i + lanes <= length; i += lanes) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

// Four chains of full vectors (one would wait for each multiply-add to finish), then single vectors,
// narrower ones and single elements. The order depends on the length alone.
float dot(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::size_t length) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto sum0 = hn::Zero(d);
  auto sum1 = sum0;
  auto sum2 = sum0;
  auto sum3 = sum0;
  std::size_t i = 0;
  for (; i + 4 * lanes <= length; i += 4 * lanes) {
    sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
    sum1 = hn::MulAdd(hn::LoadU(d, a + i + lanes), hn::LoadU(d, b + i + lanes), sum1);
    sum2 = hn::MulAdd(hn::LoadU(d, a + i + 2 * lanes), hn::LoadU(d, b + i + 2 * lanes), sum2);
    sum3 = hn::MulAdd(hn::LoadU(d, a + i + 3 * lanes), hn::LoadU(d, b + i + 3 * lanes), sum3);
  }
  for (; i + lanes <= length; i += lanes) sum0 = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum0);
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sum0, sum1), hn::Add(sum2, sum3))));
  if (i == length) return sum;
  sum += dot_vectors(hn::CappedTag<float, 4>(), a, b, length, i);
  for (; i < length; ++i) sum += a[i] * b[i];
  return sum;
}

// value[e] for the entries [first, last).
void sddmm_entries(const CsrView& pattern, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                   std::size_t batch, float* HWY_RESTRICT value, Offset first, Offset last) {
  const auto after = std::upper_bound(pattern.row_begin.begin(), pattern.row_begin.end(), first);
  auto r = static_cast<Index>(after - pattern.row_begin.begin()) - 1;  // the row that holds `first`
  for (Offset e = first; e < last; ++r) {
    const Offset end = std::min(last, pattern.row_begin[r + 1]);
    for (; e < end; ++e) value[e] = dot(a + r * batch, b + pattern.column[e] * batch, batch);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
