// SPDX-License-Identifier: Apache-2.0
// Dispatch of the activation functions to the best SIMD target of the CPU.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation.cpp"  // NOLINT
#include <hwy/foreach_target.h>                      // IWYU pragma: keep

#include "kernels/activation-inl.h"

#if HWY_ONCE
namespace filigree {

HWY_EXPORT(ApplyRelu);
HWY_EXPORT(ApplyLeakyRelu);
HWY_EXPORT(ApplySigmoid);
HWY_EXPORT(ApplyTanh);

void apply_activation(Activation activation, float slope, std::span<float> x) {
  switch (activation) {
    case Activation::identity:
      return;
    case Activation::relu:
      return HWY_DYNAMIC_DISPATCH(ApplyRelu)(x.data(), x.size());
    case Activation::leaky_relu:
      return HWY_DYNAMIC_DISPATCH(ApplyLeakyRelu)(slope, x.data(), x.size());
    case Activation::sigmoid:
      return HWY_DYNAMIC_DISPATCH(ApplySigmoid)(x.data(), x.size());
    case Activation::tanh:
      return HWY_DYNAMIC_DISPATCH(ApplyTanh)(x.data(), x.size());
  }
}

}  // namespace filigree
#endif  // HWY_ONCE
