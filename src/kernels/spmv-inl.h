// SPDX-License-Identifier: Apache-2.0
// The SIMD body of spMV, compiled once per target.
#if defined(FILIGREE_KERNELS_SPMV_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_SPMV_INL_H_
#undef FILIGREE_KERNELS_SPMV_INL_H_
#else
#define FILIGREE_KERNELS_SPMV_INL_H_
#endif

#include <hwy/highway.h>

#include "filigree/sparse.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // one .cpp compiles this

namespace hn = hwy::HWY_NAMESPACE;

// y[r] for the rows [first, last). One running sum: the gathers, not the additions, set the pace.
void spmv_rows(const CsrView& a, const float* HWY_RESTRICT x, float* HWY_RESTRICT y, Index first,
               Index last) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> d_index;
  const auto lanes = static_cast<Offset>(hn::Lanes(d));
  const Index* HWY_RESTRICT column = a.column.data();
  const float* HWY_RESTRICT value = a.value.data();
  for (Index r = first; r < last; ++r) {
    const Offset end = a.row_begin[r + 1];
    Offset e = a.row_begin[r];
    auto sums = hn::Zero(d);
    for (; e + lanes <= end; e += lanes) {
      const auto inputs = hn::GatherIndex(d, x, hn::LoadU(d_index, column + e));
      sums = hn::MulAdd(hn::LoadU(d, value + e), inputs, sums);
    }
    // The rest one by one: a masked gather would multiply a padding zero with an input that may be infinite.
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; e < end; ++e) sum += value[e] * x[column[e]];
    y[r] = sum;
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
