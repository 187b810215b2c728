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

#if HWY_TARGET != HWY_SCALAR
// The sums of the lanes of four vectors, side by side: a sum of lanes for each alone takes as long as the dot
// product of a batch of 64.
template <class D, class V = hn::Vec<D>>
void sum_four(D d, V s0, V s1, V s2, V s3, float* HWY_RESTRICT out) {
  if constexpr (hn::MaxLanes(D()) > 4) {
    const hn::Half<D> half;
    const auto fold = [&](V v) { return hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)); };
    sum_four(half, fold(s0), fold(s1), fold(s2), fold(s3), out);
  } else {
    const hn::RepartitionToWide<D> wide;
    const auto pairs = [&](V v, V w) {  // v0+v2 w0+w2 v1+v3 w1+w3
      return hn::BitCast(wide, hn::Add(hn::InterleaveLower(d, v, w), hn::InterleaveUpper(d, v, w)));
    };
    const auto low = pairs(s0, s1), high = pairs(s2, s3);
    hn::StoreU(hn::Add(hn::BitCast(d, hn::InterleaveLower(wide, low, high)),
                       hn::BitCast(d, hn::InterleaveUpper(wide, low, high))),
               d, out);
  }
}

// Dot products of `a` with four others, of a length that is a multiple of full vectors.
void dot_four(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, const Index* HWY_RESTRICT row,
              std::size_t length, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d);
  auto s1 = s0;
  auto s2 = s0;
  auto s3 = s0;
  const float* const b0 = b + row[0] * length;
  const float* const b1 = b + row[1] * length;
  const float* const b2 = b + row[2] * length;
  const float* const b3 = b + row[3] * length;
  for (std::size_t i = 0; i < length; i += lanes) {
    const auto x = hn::LoadU(d, a + i);
    s0 = hn::MulAdd(x, hn::LoadU(d, b0 + i), s0);
    s1 = hn::MulAdd(x, hn::LoadU(d, b1 + i), s1);
    s2 = hn::MulAdd(x, hn::LoadU(d, b2 + i), s2);
    s3 = hn::MulAdd(x, hn::LoadU(d, b3 + i), s3);
  }
  sum_four(d, s0, s1, s2, s3, out);
}
#endif

// value[e] for the entries [first, last), which all belong to one row. The order of a sum depends on the
// batch alone.
void sddmm_row(const Index* HWY_RESTRICT column, const float* HWY_RESTRICT own, const float* HWY_RESTRICT b,
               std::size_t batch, float* HWY_RESTRICT value, Offset first, Offset last) {
  Offset e = first;
#if HWY_TARGET != HWY_SCALAR
  if (batch % hn::Lanes(hn::ScalableTag<float>()) == 0) {
    for (; e + 4 <= last; e += 4) dot_four(own, b, column + e, batch, value + e);
    if (e == last) return;
    Index last_columns[4];  // what is missing to four is computed for nothing
    float sums[4];
    for (Offset i = 0; i < 4; ++i) last_columns[i] = column[std::min(e + i, last - 1)];
    dot_four(own, b, last_columns, batch, sums);
    std::copy_n(sums, last - e, value + e);
    return;
  }
#endif
  for (; e < last; ++e) value[e] = dot(own, b + column[e] * batch, batch);
}

// value[e] for the entries [first, last).
void sddmm_entries(const CsrView& pattern, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                   std::size_t batch, float* HWY_RESTRICT value, Offset first, Offset last) {
  const auto after = std::upper_bound(pattern.row_begin.begin(), pattern.row_begin.end(), first);
  Index r = after - pattern.row_begin.begin() - 1;  // the row that holds `first`
  for (Offset e = first; e < last; ++r) {
    const Offset end = std::min(last, pattern.row_begin[r + 1]);
    sddmm_row(pattern.column.data(), a + r * batch, b, batch, value, e, end);
    e = end;
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
