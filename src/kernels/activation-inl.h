// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of the activation functions, compiled once per target by activation.cpp.
#if defined(FILIGREE_KERNELS_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_ACTIVATION_INL_H_
#undef FILIGREE_KERNELS_ACTIVATION_INL_H_
#else
#define FILIGREE_KERNELS_ACTIVATION_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/activation.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using ActivationTag = hn::CappedTag<float, 16>;
using ActivationVec = hn::Vec<ActivationTag>;

// Whole vectors in place; the rest through a vector of its own.
template <typename Function>
HWY_INLINE void for_each_vector(float* HWY_RESTRICT x, std::size_t size, const Function& function) {
  const ActivationTag d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) hn::StoreU(function(d, hn::LoadU(d, x + i)), d, x + i);
  if (i == size) return;
  HWY_ALIGN float rest[16] = {};
  std::copy(x + i, x + size, rest);
  hn::Store(function(d, hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (size - i), x + i);
}

void ApplyRelu(float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [](ActivationTag d, ActivationVec v) HWY_ATTR {
    const auto zero = hn::Zero(d);
    return hn::IfThenElse(hn::Lt(v, zero), zero, v);
  });
}

void ApplyLeakyRelu(float slope, float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [slope](ActivationTag d, ActivationVec v) HWY_ATTR {
    return hn::IfThenElse(hn::Lt(v, hn::Zero(d)), hn::Mul(v, hn::Set(d, slope)), v);
  });
}

// With e = exp(-|x|) it is 1 / (1 + e) above zero and e / (1 + e) below: no overflow, no cancellation.
void ApplySigmoid(float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [](ActivationTag d, ActivationVec v) HWY_ATTR {
    const auto one = hn::Set(d, 1.0f);
    const auto e = hn::Exp(d, hn::Neg(hn::Abs(v)));
    const auto y = hn::Div(hn::IfThenElse(hn::Lt(v, hn::Zero(d)), e, one), hn::Add(one, e));
    return hn::IfThenElse(hn::IsNaN(v), v, y);  // Exp makes a number of NaN
  });
}

void ApplyTanh(float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [](ActivationTag d, ActivationVec v) HWY_ATTR {
    return hn::IfThenElse(hn::IsNaN(v), v, hn::Tanh(d, v));
  });
}

}  // namespace
}  // namespace filigree::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_ACTIVATION_INL_H_
