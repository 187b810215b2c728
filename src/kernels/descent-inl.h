// SPDX-License-Identifier: Apache-2.0
// SIMD bodies of gradient descent, compiled once per target by descent.cpp.
#if defined(FILIGREE_KERNELS_DESCENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FILIGREE_KERNELS_DESCENT_INL_H_
#undef FILIGREE_KERNELS_DESCENT_INL_H_
#else
#define FILIGREE_KERNELS_DESCENT_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/descent.h"

HWY_BEFORE_NAMESPACE();
namespace filigree::internal::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Calls step(d, i) for vectors from place i on, and for single values at the end.
template <class Step>
HWY_INLINE void for_all(std::size_t count, const Step& step) {
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) step(d, i);
  for (; i < count; ++i) step(hn::CappedTag<float, 1>(), i);
}

void AddTo(float* HWY_RESTRICT sum, const float* HWY_RESTRICT other, std::size_t count) {
  for_all(count, [=](auto d, std::size_t i) HWY_ATTR {
    hn::StoreU(hn::Add(hn::LoadU(d, sum + i), hn::LoadU(d, other + i)), d, sum + i);
  });
}

// Four chains of additions hide most of their latency.
double SumOfSquares(const float* HWY_RESTRICT values, std::size_t count) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> narrow;
  const std::size_t lanes = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  const auto add = [&](auto sum, std::size_t i) HWY_ATTR {
    const auto v = hn::PromoteTo(d, hn::LoadU(narrow, values + i));
    return hn::MulAdd(v, v, sum);
  };
  std::size_t i = 0;
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    s0 = add(s0, i);
    s1 = add(s1, i + lanes);
    s2 = add(s2, i + 2 * lanes);
    s3 = add(s3, i + 3 * lanes);
  }
  double sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  for (; i < count; ++i) sum += double{values[i]} * values[i];
  return sum;
}

void Descend(const DescentRates& r, const Descent& at) {
  const std::size_t count = at.value.size();
  float* HWY_RESTRICT w = at.value.data();
  const float* HWY_RESTRICT g = at.gradient.data();
  float* HWY_RESTRICT m = at.first.data();
  float* HWY_RESTRICT v = at.second.data();
  const auto decayed = [=](auto d, std::size_t i) HWY_ATTR {
    return hn::Add(hn::Mul(hn::Set(d, r.scale), hn::LoadU(d, g + i)),
                   hn::Mul(hn::Set(d, r.decay), hn::LoadU(d, w + i)));
  };
  switch (r.optimizer) {
    case Optimizer::sgd:
      return for_all(count, [=](auto d, std::size_t i) HWY_ATTR {
        const auto step = hn::Mul(hn::Set(d, r.lr), decayed(d, i));
        hn::StoreU(hn::Sub(hn::LoadU(d, w + i), step), d, w + i);
      });
    case Optimizer::nesterov:
      return for_all(count, [=](auto d, std::size_t i) HWY_ATTR {
        const auto gradient = decayed(d, i);
        const auto momentum = hn::Set(d, r.momentum);
        const auto first = hn::Add(hn::Mul(momentum, hn::LoadU(d, m + i)), gradient);
        hn::StoreU(first, d, m + i);
        const auto step = hn::Mul(hn::Set(d, r.lr), hn::Add(gradient, hn::Mul(momentum, first)));
        hn::StoreU(hn::Sub(hn::LoadU(d, w + i), step), d, w + i);
      });
    case Optimizer::adam:
    case Optimizer::adamw: {
      const bool decoupled = decouples_decay(r.optimizer);
      return for_all(count, [=](auto d, std::size_t i) HWY_ATTR {
        const auto gradient = decoupled ? hn::Mul(hn::Set(d, r.scale), hn::LoadU(d, g + i)) : decayed(d, i);
        const auto first = hn::Add(hn::Mul(hn::Set(d, r.beta1), hn::LoadU(d, m + i)),
                                   hn::Mul(hn::Set(d, 1 - r.beta1), gradient));
        const auto second = hn::Add(hn::Mul(hn::Set(d, r.beta2), hn::LoadU(d, v + i)),
                                    hn::Mul(hn::Set(d, 1 - r.beta2), hn::Mul(gradient, gradient)));
        hn::StoreU(first, d, m + i);
        hn::StoreU(second, d, v + i);
        auto weight = hn::LoadU(d, w + i);
        if (decoupled) weight = hn::Sub(weight, hn::Mul(hn::Set(d, r.lr * r.decay), weight));
        const auto up = hn::Mul(hn::Set(d, r.lr), hn::Mul(first, hn::Set(d, r.correct1)));
        const auto below = hn::Add(hn::Sqrt(hn::Mul(second, hn::Set(d, r.correct2))), hn::Set(d, r.epsilon));
        hn::StoreU(hn::Sub(weight, hn::Div(up, below)), d, w + i);
      });
    }
    case Optimizer::lion:
      return for_all(count, [=](auto d, std::size_t i) HWY_ATTR {
        const auto gradient = hn::Mul(hn::Set(d, r.scale), hn::LoadU(d, g + i));
        const auto before = hn::LoadU(d, m + i), weight = hn::LoadU(d, w + i), zero = hn::Zero(d);
        const auto mean =
            hn::Add(hn::Mul(hn::Set(d, r.beta1), before), hn::Mul(hn::Set(d, 1 - r.beta1), gradient));
        const auto first =
            hn::Add(hn::Mul(hn::Set(d, r.beta2), before), hn::Mul(hn::Set(d, 1 - r.beta2), gradient));
        hn::StoreU(first, d, m + i);
        const auto one = hn::Set(d, 1.0f);
        const auto sign =
            hn::IfThenElse(hn::Gt(mean, zero), one, hn::IfThenElse(hn::Lt(mean, zero), hn::Neg(one), zero));
        const auto step = hn::Mul(hn::Set(d, r.lr), hn::Add(sign, hn::Mul(hn::Set(d, r.decay), weight)));
        hn::StoreU(hn::Sub(weight, step), d, w + i);
      });
  }
}

}  // namespace
}  // namespace filigree::internal::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
