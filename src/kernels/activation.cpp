// SPDX-License-Identifier: Apache-2.0
// Dispatch of the activation functions to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"  // NOLINT
#include <hwy/foreach_target.h>                      // IWYU pragma: keep

#include "kernels/activation-inl.h"

#if HWY_ONCE
#include <cassert>

namespace filigree::internal {

HWY_EXPORT(ApplyRelu);
HWY_EXPORT(ApplyLeakyRelu);
HWY_EXPORT(ApplySigmoid);
HWY_EXPORT(ApplyTanh);
HWY_EXPORT(ApplySoftplus);
HWY_EXPORT(MultiplyBySoftplusSlope);

void apply_activation(const ActivationFunction& activation, std::span<float> x) {
  switch (activation.kind) {
    case Activation::identity:
      return;
    case Activation::relu:
      return HWY_DYNAMIC_DISPATCH(ApplyRelu)(activation.cap, x.data(), x.size());
    case Activation::leaky_relu:
      return HWY_DYNAMIC_DISPATCH(ApplyLeakyRelu)(activation.slope, x.data(), x.size());
    case Activation::sigmoid:
      return HWY_DYNAMIC_DISPATCH(ApplySigmoid)(x.data(), x.size());
    case Activation::tanh:
      return HWY_DYNAMIC_DISPATCH(ApplyTanh)(x.data(), x.size());
    case Activation::softplus:
      return HWY_DYNAMIC_DISPATCH(ApplySoftplus)(x.data(), x.size());
  }
}

void multiply_by_derivative(const ActivationFunction& activation, std::span<const float> y,
                            std::span<const float> z, std::span<float> delta) {
  assert(!activation.derivative_needs_sum() || z.size() == delta.size());
  const std::size_t size = delta.size();
  switch (activation.kind) {
    case Activation::identity:
      return;
    case Activation::relu:
      for (std::size_t i = 0; i < size; ++i) delta[i] = y[i] > 0 ? delta[i] : 0.0f;
      return;
    case Activation::leaky_relu: {
      const std::span<const float> side = z.empty() ? y : z;
      for (std::size_t i = 0; i < size; ++i) delta[i] *= side[i] > 0 ? 1.0f : activation.slope;
      return;
    }
    case Activation::sigmoid:
      for (std::size_t i = 0; i < size; ++i) delta[i] *= y[i] * (1 - y[i]);
      return;
    case Activation::tanh:
      for (std::size_t i = 0; i < size; ++i) delta[i] *= 1 - y[i] * y[i];
      return;
    case Activation::softplus:
      return HWY_DYNAMIC_DISPATCH(MultiplyBySoftplusSlope)(y.data(), delta.data(), size);
  }
}

}  // namespace filigree::internal
#endif  // HWY_ONCE
