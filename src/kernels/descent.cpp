// SPDX-License-Identifier: Apache-2.0
// Dispatch of gradient descent to the best SIMD target of the CPU.
#include "kernels/descent.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/descent.cpp"
#include <hwy/foreach_target.h>  // before the body: compiles it once per target

#include "kernels/descent-inl.h"

#if HWY_ONCE
#include <cassert>

namespace filigree::internal {

HWY_EXPORT(AddTo);
HWY_EXPORT(SumOfSquares);
HWY_EXPORT(Descend);

void add_to(std::span<float> sum, std::span<const float> other) {
  assert(sum.size() == other.size());
  HWY_DYNAMIC_DISPATCH(AddTo)(sum.data(), other.data(), sum.size());
}

double sum_of_squares(std::span<const float> values) {
  return HWY_DYNAMIC_DISPATCH(SumOfSquares)(values.data(), values.size());
}

void descend(const DescentRates& rates, const Descent& at) {
  assert(at.gradient.size() == at.value.size());
  assert(at.first.size() == (moments_of(rates.optimizer) > 0 ? at.value.size() : 0));
  assert(at.second.size() == (moments_of(rates.optimizer) > 1 ? at.value.size() : 0));
  HWY_DYNAMIC_DISPATCH(Descend)(rates, at);
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
