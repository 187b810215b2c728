// SPDX-License-Identifier: Apache-2.0
// The meaning of the activation functions, and the facts that follow from it.
#include <algorithm>
#include <cmath>

#include "filigree/activation.h"

namespace filigree {

double ActivationFunction::operator()(double z) const {
  switch (kind) {
    case Activation::identity:
      return z;
    case Activation::relu:
      return std::min(std::max(z, 0.0), double{cap});  // in this order a NaN stays one
    case Activation::leaky_relu:
      return z < 0 ? z * double{slope} : z;
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-z));
    case Activation::tanh:
      return std::tanh(z);
    case Activation::softplus:
      return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
  }
  return z;
}

double ActivationFunction::derivative(double z) const {
  switch (kind) {
    case Activation::identity:
      return 1;
    case Activation::relu:
      return z > 0 && z <= double{cap} ? 1 : 0;
    case Activation::leaky_relu:
      return z > 0 ? 1 : double{slope};
    case Activation::sigmoid: {
      const double y = (*this)(z);
      return y * (1 - y);
    }
    case Activation::tanh: {
      const double y = std::tanh(z);
      return 1 - y * y;
    }
    case Activation::softplus:
      return 1 / (1 + std::exp(-z));
  }
  return 1;
}

float ActivationFunction::inverse(float y) const {
  switch (kind) {
    case Activation::identity:
    case Activation::relu:
      return y;
    case Activation::leaky_relu:
      return y < 0 && slope > 0 ? y / slope : y;
    case Activation::sigmoid:
      return std::clamp(std::log(y / (1 - y)), -104.0f, 104.0f);
    case Activation::tanh:
      return std::clamp(std::atanh(y), -20.0f, 20.0f);
    case Activation::softplus:
      return y > 20 ? y : y > 0 ? std::max(std::log(std::expm1(y)), -104.0f) : -104.0f;
  }
  return y;
}

bool ActivationFunction::gives_zero(float z) const {
  switch (kind) {
    case Activation::relu:
      return z <= 0;
    case Activation::identity:
    case Activation::leaky_relu:
    case Activation::tanh:
      return z == 0;
    case Activation::sigmoid:
    case Activation::softplus:
      return false;
  }
  return false;
}

ZeroSums ActivationFunction::zero_sums() const {
  switch (kind) {
    case Activation::relu:
      return ZeroSums::none_above_zero;
    case Activation::identity:
    case Activation::tanh:
      return ZeroSums::zero_alone;
    case Activation::leaky_relu:  // a slope may be zero, or make a small number smaller than floats are
    case Activation::sigmoid:     // far below zero floats end
    case Activation::softplus:
      return ZeroSums::any;
  }
  return ZeroSums::any;
}

bool ActivationFunction::non_decreasing() const {
  switch (kind) {
    case Activation::leaky_relu:
      return slope >= 0;
    case Activation::identity:
    case Activation::relu:
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return true;
  }
  return false;
}

bool ActivationFunction::derivative_needs_sum() const {
  switch (kind) {
    case Activation::leaky_relu:
      return slope <= 0;  // the sign of the result does not tell that of the sum
    case Activation::identity:
    case Activation::relu:
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return false;
  }
  return true;
}

bool ActivationFunction::saturates() const {
  switch (kind) {
    case Activation::relu:
      return cap < kNoCap;
    case Activation::identity:
    case Activation::leaky_relu:
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return false;
  }
  return false;
}

bool ActivationFunction::has_slope() const {
  switch (kind) {
    case Activation::leaky_relu:
      return true;
    case Activation::identity:
    case Activation::relu:
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return false;
  }
  return false;
}

bool ActivationFunction::in_epilogue() const {
  switch (kind) {
    case Activation::identity:
    case Activation::relu:
      return true;
    case Activation::leaky_relu:
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return false;
  }
  return false;
}

bool ActivationFunction::is_curve() const {
  switch (kind) {
    case Activation::identity:
    case Activation::relu:
    case Activation::leaky_relu:
      return false;
    case Activation::sigmoid:
    case Activation::tanh:
    case Activation::softplus:
      return true;
  }
  return true;
}

}  // namespace filigree
