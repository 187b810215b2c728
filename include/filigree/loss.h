// SPDX-License-Identifier: Apache-2.0
// Losses: what training makes small, and all that the engine asks of one. To add one: a word here, its
// meaning and facts in src/kernels/loss_ref.cpp, its form for many samples in src/train/loss.cpp and its
// device code in src/device/train_kernels.cu; the compiler names the place that is missing.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "filigree/activation.h"
#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

enum class Loss { cross_entropy, mse };  // softmax + cross-entropy, sigmoid + mean squared error
template <>
struct Words<Loss> {
  static constexpr std::array<std::string_view, 2> kWords = {"cross-entropy", "mse"};
};

// What makes probabilities of a network's outputs.
enum class OutputLink {
  softmax,   // the outputs are logits
  identity,  // they are probabilities already
};

// What the last layer does to its sums, for the loss to be of the result.
ActivationFunction output_activation(Loss loss);
OutputLink output_link(Loss loss);

// One sample, in double: the loss of a row of outputs whose class is `label`, and its gradient by the sums of
// the last layer. `smoothing`: the share of the target that is spread over all classes.
double row_loss(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing = 0);
void row_gradient(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing,
                  std::span<double> gradient);

}  // namespace filigree
#pragma GCC visibility pop
