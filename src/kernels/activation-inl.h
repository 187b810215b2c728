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
namespace filigree::internal::HWY_NAMESPACE {
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

void ApplyRelu(float cap, float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [cap](ActivationTag d, ActivationVec v) HWY_ATTR {
    const auto zero = hn::Zero(d), most = hn::Set(d, cap);
    const auto positive = hn::IfThenElse(hn::Lt(v, zero), zero, v);
    return hn::IfThenElse(hn::Gt(positive, most), most, positive);
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

// max(x, 0) + log(1 + exp(-|x|)): no overflow.
void ApplySoftplus(float* HWY_RESTRICT x, std::size_t size) {
  for_each_vector(x, size, [](ActivationTag d, ActivationVec v) HWY_ATTR {
    const auto rest = hn::Log1p(d, hn::Exp(d, hn::Neg(hn::Abs(v))));
    return hn::IfThenElse(hn::IsNaN(v), v, hn::Add(hn::Max(v, hn::Zero(d)), rest));
  });
}

// Its slope is 1 / (1 + exp(-z)), which is 1 - exp(-y).
void MultiplyBySoftplusSlope(const float* HWY_RESTRICT y, float* HWY_RESTRICT delta, std::size_t size) {
  const ActivationTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto product = [d](ActivationVec result, ActivationVec value)
                           HWY_ATTR { return hn::Mul(value, hn::Neg(hn::Expm1(d, hn::Neg(result)))); };
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes)
    hn::StoreU(product(hn::LoadU(d, y + i), hn::LoadU(d, delta + i)), d, delta + i);
  if (i == size) return;
  HWY_ALIGN float rest_y[16] = {}, rest[16] = {};
  std::copy(y + i, y + size, rest_y);
  std::copy(delta + i, delta + size, rest);
  hn::Store(product(hn::Load(d, rest_y), hn::Load(d, rest)), d, rest);
  std::copy(rest, rest + (size - i), delta + i);
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FILIGREE_KERNELS_ACTIVATION_INL_H_
