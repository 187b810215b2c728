// SPDX-License-Identifier: Apache-2.0
// Optimizers: how a step follows from gradients, and all that the engine asks of one. To add one: a word and
// its facts here, its meaning in src/kernels/descent_ref.cpp, its SIMD body in src/kernels/descent-inl.h and
// its device code in src/device/train_kernels.cu; the compiler names the place that is missing.
#pragma once

#include <array>
#include <string_view>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

enum class Optimizer { sgd, nesterov, adam, adamw, lion };
template <>
struct Words<Optimizer> {
  static constexpr std::array<std::string_view, 5> kWords = {"sgd", "nesterov", "adam", "adamw", "lion"};
};

// How many numbers it remembers of each weight: none, a first moment, or a second one as well.
constexpr int moments_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
      return 0;
    case Optimizer::nesterov:
    case Optimizer::lion:
      return 1;
    case Optimizer::adam:
    case Optimizer::adamw:
      return 2;
  }
  return 0;
}

// Whether weight decay shrinks the weights themselves, rather than being added to their gradients.
constexpr bool decouples_decay(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::sgd:
    case Optimizer::nesterov:
    case Optimizer::adam:
      return false;
    case Optimizer::adamw:
    case Optimizer::lion:
      return true;
  }
  return false;
}

}  // namespace filigree
#pragma GCC visibility pop
