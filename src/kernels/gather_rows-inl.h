// SPDX-License-Identifier: Apache-2.0
// The SIMD body of spMM and spMMᵀ, compiled once per target: both gather, one from CSR, the other from CSC.
#if defined(FILIGREE_KERNELS_GATHER_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_GATHER_ROWS_INL_H_
#undef FILIGREE_KERNELS_GATHER_ROWS_INL_H_
#else
#define FILIGREE_KERNELS_GATHER_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>

#include "kernels/gather_rows.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {  // one .cpp compiles this

namespace hn = hwy::HWY_NAMESPACE;

// One output: which rows of x feed it, and how strongly.
struct Sources {
  const Index* HWY_RESTRICT row;
  const float* HWY_RESTRICT value;
  Offset length;
};

// Four vectors of the batch at a time, as long as they fit; returns the first b not done.
template <class D>
std::size_t gather_four_vectors(D d, const Sources& from, const float* HWY_RESTRICT x, std::size_t batch,
                                float* HWY_RESTRICT y, std::size_t b) {
  const std::size_t lanes = hn::Lanes(d);
  for (; b + 4 * lanes <= batch; b += 4 * lanes) {
    auto sum0 = hn::Zero(d);
    auto sum1 = sum0;
    auto sum2 = sum0;
    auto sum3 = sum0;
    for (Offset e = 0; e < from.length; ++e) {
      const float* HWY_RESTRICT in = x + from.row[e] * batch + b;
      const auto weight = hn::Set(d, from.value[e]);
      sum0 = hn::MulAdd(weight, hn::LoadU(d, in), sum0);
      sum1 = hn::MulAdd(weight, hn::LoadU(d, in + lanes), sum1);
      sum2 = hn::MulAdd(weight, hn::LoadU(d, in + 2 * lanes), sum2);
      sum3 = hn::MulAdd(weight, hn::LoadU(d, in + 3 * lanes), sum3);
    }
    hn::StoreU(sum0, d, y + b);
    hn::StoreU(sum1, d, y + b + lanes);
    hn::StoreU(sum2, d, y + b + 2 * lanes);
    hn::StoreU(sum3, d, y + b + 3 * lanes);
  }
  return b;
}

// The same, two vectors at a time: a batch of 32 with AVX-512.
template <class D>
std::size_t gather_two_vectors(D d, const Sources& from, const float* HWY_RESTRICT x, std::size_t batch,
                               float* HWY_RESTRICT y, std::size_t b) {
  const std::size_t lanes = hn::Lanes(d);
  for (; b + 2 * lanes <= batch; b += 2 * lanes) {
    auto sum0 = hn::Zero(d);
    auto sum1 = sum0;
    for (Offset e = 0; e < from.length; ++e) {
      const float* HWY_RESTRICT in = x + from.row[e] * batch + b;
      const auto weight = hn::Set(d, from.value[e]);
      sum0 = hn::MulAdd(weight, hn::LoadU(d, in), sum0);
      sum1 = hn::MulAdd(weight, hn::LoadU(d, in + lanes), sum1);
    }
    hn::StoreU(sum0, d, y + b);
    hn::StoreU(sum1, d, y + b + lanes);
  }
  return b;
}

// The same, one vector at a time.
template <class D>
std::size_t gather_one_vector(D d, const Sources& from, const float* HWY_RESTRICT x, std::size_t batch,
                              float* HWY_RESTRICT y, std::size_t b) {
  const std::size_t lanes = hn::Lanes(d);
  for (; b + lanes <= batch; b += lanes) {
    auto sum = hn::Zero(d);
    for (Offset e = 0; e < from.length; ++e)
      sum = hn::MulAdd(hn::Set(d, from.value[e]), hn::LoadU(d, x + from.row[e] * batch + b), sum);
    hn::StoreU(sum, d, y + b);
  }
  return b;
}

// What a full vector leaves of the batch goes through narrower ones down to a single lane, all by the same
// operations: no lane sees another.
void GatherRows(const Gather& a, const float* HWY_RESTRICT x, std::size_t batch, float* HWY_RESTRICT y,
                std::size_t first, std::size_t last) {
  const hn::ScalableTag<float> d;
  for (std::size_t r = first; r < last; ++r) {
    const Offset begin = a.begin[r];
    const Sources from{a.row.data() + begin, a.value.data() + begin, a.begin[r + 1] - begin};
    float* HWY_RESTRICT to = y + r * batch;
    std::size_t b = gather_four_vectors(d, from, x, batch, to, 0);
    b = gather_two_vectors(d, from, x, batch, to, b);
    b = gather_one_vector(d, from, x, batch, to, b);
    b = gather_one_vector(hn::CappedTag<float, 8>(), from, x, batch, to, b);
    b = gather_one_vector(hn::CappedTag<float, 4>(), from, x, batch, to, b);
    gather_one_vector(hn::CappedTag<float, 1>(), from, x, batch, to, b);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
