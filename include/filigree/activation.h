// SPDX-License-Identifier: Apache-2.0
// Activation functions: a kind, its parameters, and all that the engine asks of one. To add a kind: a word
// here, its meaning and facts in src/kernels/activation_ref.cpp, its SIMD body in
// src/kernels/activation-inl.h (called by activation.cpp), its device code in src/device/activate.h and its
// text in src/compile/export_cpp.cpp; for training a word of HiddenActivation in options.h, which
// src/train/topology.cpp translates. The compiler names the place that is missing.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <string_view>

#pragma GCC visibility push(default)
namespace filigree {

enum class Activation { identity, relu, leaky_relu, sigmoid, tanh, softplus };

// As model files and the command line call them.
inline constexpr std::array<std::string_view, 6> kActivationNames = {"identity", "relu", "leaky-relu",
                                                                     "sigmoid",  "tanh", "softplus"};
constexpr std::string_view activation_name(Activation activation) {
  return kActivationNames[static_cast<std::size_t>(activation)];
}

inline constexpr float kNoCap = std::numeric_limits<float>::infinity();

// For which sums a function gives exactly zero.
enum class ZeroSums { none_above_zero, zero_alone, any };  // any: look at the result

struct ActivationFunction {
  Activation kind = Activation::relu;
  float cap = kNoCap;  // relu: min(max(z, 0), cap)
  float slope = 0;     // leaky_relu: z · slope below zero; any sign

  constexpr ActivationFunction() = default;
  constexpr ActivationFunction(Activation of_kind, float with_cap = kNoCap, float with_slope = 0)
      : kind(of_kind), cap(with_cap), slope(with_slope) {}
  static constexpr ActivationFunction leaky(float slope) { return {Activation::leaky_relu, kNoCap, slope}; }

  bool operator==(const ActivationFunction&) const = default;
  bool operator==(Activation) const = delete;  // of the kind, or of the parameters as well?
  bool is(Activation of_kind) const { return kind == of_kind; }

  double operator()(double z) const;  // its value at z; NaN stays NaN
  double derivative(double z) const;  // at a corner, the one from below
  float inverse(float y) const;       // some z whose value is y
  bool gives_zero(float z) const;     // its value at z is exactly 0
  ZeroSums zero_sums() const;
  bool non_decreasing() const;
  bool saturates() const;             // at its cap
  bool derivative_needs_sum() const;  // else the derivative follows from the value
  bool is_curve() const;              // computing it takes an exponential function
  bool has_slope() const;             // model files keep it
  bool in_epilogue() const;           // the product's kernel applies it: relu with its cap, or identity
};

}  // namespace filigree
#pragma GCC visibility pop
