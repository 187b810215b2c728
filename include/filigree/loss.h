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

// What a network is to tell of a row.
enum class Task {
  classes,  // which one of several it belongs to
  values,   // one or several numbers
  labels,   // which of several hold, each for itself
};
template <>
struct Words<Task> {
  static constexpr std::array<std::string_view, 3> kWords = {"classes", "values", "labels"};
};

enum class Loss {
  cross_entropy,         // classes: softmax and cross-entropy
  mse,                   // classes: sigmoid and half of the squared errors' sum
  binary_cross_entropy,  // labels, or two classes by one output: sigmoid and cross-entropy, added up
  squared,               // values: half of the squared error, the mean over the outputs
  absolute,              // values: the error's magnitude, the mean over the outputs
  huber,                 // values: squared up to an error of 1, its slope constant from there on
};
template <>
struct Words<Loss> {
  static constexpr std::array<std::string_view, 6> kWords = {
      "cross-entropy", "mse", "binary-cross-entropy", "squared", "absolute", "huber"};
};

// What makes probabilities of a network's outputs.
enum class OutputLink {
  softmax,   // the outputs are logits, of which one is to be the largest
  sigmoid,   // each output is a logit of its own
  identity,  // they are what they say already
};

// What the last layer does to its sums, for the loss to be of the result.
ActivationFunction output_activation(Loss loss);
OutputLink output_link(Loss loss);
// Whether the loss says how well a network does a task.
bool fits(Loss loss, Task task);
Loss usual_loss(Task task);

// One sample, in double: the loss of a row of outputs whose targets are `target`, one for each, and its
// gradient by the sums of the last layer.
double row_loss(Loss loss, std::span<const float> outputs, std::span<const float> target);
void row_gradient(Loss loss, std::span<const float> outputs, std::span<const float> target,
                  std::span<double> gradient);
// The same of a row whose class is `label`. `smoothing`: the share of the target that is spread over all
// classes.
double row_loss(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing = 0);
void row_gradient(Loss loss, std::span<const float> outputs, std::size_t label, double smoothing,
                  std::span<double> gradient);

}  // namespace filigree
#pragma GCC visibility pop
