// SPDX-License-Identifier: Apache-2.0
// SIMD body of softmax, compiled once per target by softmax.cpp.
#if defined(FILIGREE_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_SOFTMAX_INL_H_
#undef FILIGREE_KERNELS_SOFTMAX_INL_H_
#else
#define FILIGREE_KERNELS_SOFTMAX_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cstddef>

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

void Softmax(std::size_t classes, std::size_t stride, const float* HWY_RESTRICT y, float* HWY_RESTRICT share,
             float* HWY_RESTRICT highest, float* HWY_RESTRICT log_sum) {
  const hn::CappedTag<float, 16> d;
  for (std::size_t b = 0; b < stride; b += hn::Lanes(d)) {
    auto top = hn::LoadU(d, y + b);
    for (std::size_t c = 1; c < classes; ++c) top = hn::Max(top, hn::LoadU(d, y + c * stride + b));
    auto sum = hn::Zero(d);
    for (std::size_t c = 0; c < classes; ++c) {
      const auto below = hn::Sub(hn::LoadU(d, y + c * stride + b), top);
      const auto power =
          hn::IfThenElse(hn::IsNaN(below), below, hn::Exp(d, below));  // Exp and Log make it a number
      sum = hn::Add(sum, power);
      hn::StoreU(power, d, share + c * stride + b);
    }
    for (std::size_t c = 0; c < classes; ++c) {
      float* HWY_RESTRICT place = share + c * stride + b;
      hn::StoreU(hn::Div(hn::LoadU(d, place), sum), d, place);
    }
    hn::StoreU(top, d, highest + b);
    hn::StoreU(hn::IfThenElse(hn::IsNaN(sum), sum, hn::Add(top, hn::Log(d, sum))), d, log_sum + b);
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
