// SPDX-License-Identifier: Apache-2.0
// The SIMD body of spMMᵀ, compiled once per target.
#if defined(FILIGREE_KERNELS_SPMM_TRANSPOSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_SPMM_TRANSPOSED_INL_H_
#undef FILIGREE_KERNELS_SPMM_TRANSPOSED_INL_H_
#else
#define FILIGREE_KERNELS_SPMM_TRANSPOSED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "filigree/sparse.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // one .cpp compiles this

namespace hn = hwy::HWY_NAMESPACE;

// One column of A: which rows feed the output, and how strongly.
struct OutputColumn {
  const Index* HWY_RESTRICT row;
  const float* HWY_RESTRICT value;
  Offset length;
};

// Four vectors of the batch at a time, as long as they fit; returns the first b not done.
template <class D>
std::size_t gather_four_vectors(D d, const OutputColumn& column, const float* HWY_RESTRICT x,
                                std::size_t batch, float* HWY_RESTRICT y, std::size_t b) {
  const std::size_t lanes = hn::Lanes(d);
  for (; b + 4 * lanes <= batch; b += 4 * lanes) {
    auto sum0 = hn::Zero(d);
    auto sum1 = sum0;
    auto sum2 = sum0;
    auto sum3 = sum0;
    for (Offset e = 0; e < column.length; ++e) {
      const float* HWY_RESTRICT from = x + column.row[e] * batch + b;
      const auto weight = hn::Set(d, column.value[e]);
      sum0 = hn::MulAdd(weight, hn::LoadU(d, from), sum0);
      sum1 = hn::MulAdd(weight, hn::LoadU(d, from + lanes), sum1);
      sum2 = hn::MulAdd(weight, hn::LoadU(d, from + 2 * lanes), sum2);
      sum3 = hn::MulAdd(weight, hn::LoadU(d, from + 3 * lanes), sum3);
    }
    hn::StoreU(sum0, d, y + b);
    hn::StoreU(sum1, d, y + b + lanes);
    hn::StoreU(sum2, d, y + b + 2 * lanes);
    hn::StoreU(sum3, d, y + b + 3 * lanes);
  }
  return b;
}

// The same, one vector at a time.
template <class D>
std::size_t gather_one_vector(D d, const OutputColumn& column, const float* HWY_RESTRICT x, std::size_t batch,
                              float* HWY_RESTRICT y, std::size_t b) {
  const std::size_t lanes = hn::Lanes(d);
  for (; b + lanes <= batch; b += lanes) {
    auto sum = hn::Zero(d);
    for (Offset e = 0; e < column.length; ++e) {
      sum = hn::MulAdd(hn::Set(d, column.value[e]), hn::LoadU(d, x + column.row[e] * batch + b), sum);
    }
    hn::StoreU(sum, d, y + b);
  }
  return b;
}

// Y for the output neurons [first, last). What a full vector leaves of the batch goes through narrower
// ones down to a single lane, all by the same operations: no lane sees another.
void spmm_transposed_columns(const CscView& a, const float* HWY_RESTRICT x, std::size_t batch,
                             float* HWY_RESTRICT y, Index first, Index last) {
  const hn::ScalableTag<float> d;
  for (Index c = first; c < last; ++c) {
    const Offset begin = a.column_begin[c];
    const OutputColumn column{a.row.data() + begin, a.value.data() + begin, a.column_begin[c + 1] - begin};
    float* HWY_RESTRICT to = y + c * batch;
    std::size_t b = gather_four_vectors(d, column, x, batch, to, 0);
    b = gather_one_vector(d, column, x, batch, to, b);
    b = gather_one_vector(hn::CappedTag<float, 8>(), column, x, batch, to, b);
    b = gather_one_vector(hn::CappedTag<float, 4>(), column, x, batch, to, b);
    gather_one_vector(hn::CappedTag<float, 1>(), column, x, batch, to, b);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
