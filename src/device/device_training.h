// SPDX-License-Identifier: Apache-2.0
// What training asks of a device, without a word of CUDA: the passes and updates of a chain of layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/activation.h"
#include "filigree/options.h"
#include "filigree/vocabulary.h"
#include "kernels/descent.h"

namespace filigree::internal {

struct TrainingShape {
  unsigned batch = 0;           // most samples of a step
  unsigned growth_batches = 1;  // batches that are kept for growth
  unsigned features = 0, outputs = 0;
  Loss loss = Loss::cross_entropy;
  double label_smoothing = 0, dropout = 0, input_dropout = 0;
  unsigned panel = 32;  // see DropPlan
};

// Rows of a data set: bytes, floats, or sparse. What is done to each feature: (x - mean) * scale, one value
// for all or one each.
struct TrainingRows {
  unsigned rows = 0;
  std::span<const std::uint8_t> bytes;
  std::span<const float> floats;
  std::span<const Offset> row_begin;
  std::span<const Index> column;
  std::span<const float> value;
  std::span<const float> mean, scale;
};
enum class RowsPart { train, test };

// A layer as the host has it. `pattern` rows are inputs if by_input, else outputs.
struct TrainingLayer {
  unsigned inputs = 0, outputs = 0;
  ActivationFunction activation = {};
  bool by_input = false;
  std::span<const std::uint32_t> row_begin;
  std::span<const std::uint16_t> column;
  std::span<float> value, first, second;  // moments are empty where the optimizer has none
  std::span<float> bias, bias_first, bias_second;
};

// What drops out, as on the CPU: of 32 samples at a time, the key of each level and the index of the first of
// them in the panel of TrainingShape::panel samples that they share with others there.
struct DropPlan {
  std::vector<std::uint32_t> key;   // levels × groups
  std::vector<std::uint32_t> lane;  // groups
};

// What the loss compares the outputs of some rows with: a class each, or rows × outputs targets. Weights: one
// a row, or none.
struct TrainingTargets {
  std::span<const Index> label = {};
  std::span<const float> target = {}, weight = {};

  // Of the rows from `first` on.
  TrainingTargets part(std::size_t first, std::size_t count, std::size_t outputs) const {
    const auto cut = []<typename T>(std::span<const T> all, std::size_t begin, std::size_t size) {
      return all.empty() ? all : all.subspan(begin, size);
    };
    return {cut(label, first, count), cut(target, first * outputs, count * outputs),
            cut(weight, first, count)};
  }
};

struct TrainingBatch {
  std::span<const Index> rows;
  TrainingTargets targets;
  double scale = 1;  // of the loss
  DropPlan drop = {};
};

struct TrainingSums {
  double loss = 0, score = 0;  // see train/loss.h
};

// A position in a layer's matrix and the gradient there.
struct PlacedGradient {
  float gradient = 0;
  std::uint32_t row = 0, column = 0;
};

// Layers, their gradients and moments on one or several devices, which share batches out. Calls that return
// something wait; the others do not.
class DeviceTraining {
 public:
  virtual ~DeviceTraining() = default;

  virtual void set_rows(RowsPart part, const TrainingRows& rows) = 0;
  // The layers, whole; gradients become zero. What the spans hold may go when this returns; a layer is
  // computed with as soon as it has arrived, while later ones are on their way.
  virtual void set_layers(std::span<const TrainingLayer> layers) = 0;
  // Values, biases and moments, into where they came from; gradients (of values, of biases) where asked for.
  virtual void get_layers(std::span<const TrainingLayer> layers) = 0;
  virtual void get_gradients(std::size_t layer, std::span<float> value, std::span<float> bias) = 0;

  // Forward and backward; gradients of `scale` times the loss are added up. `keep_as`: inputs and output
  // gradients of each layer are kept for growth as batch number so many; below zero: they are not.
  virtual TrainingSums add_gradients(const TrainingBatch& batch, int keep_as) = 0;
  virtual double gradient_norm() = 0;
  // One step with the gradients of weights and biases (whose decay is zero); then they are zero.
  virtual void descend(const DescentRates& rates) = 0;
  virtual void clear_gradients() = 0;
  // The loss alone, without dropout or smoothing.
  virtual TrainingSums evaluate(RowsPart part, std::span<const Index> rows,
                                const TrainingTargets& targets) = 0;

  // Of what add_gradients kept: the sum of |gradient| at each output of a layer,
  virtual std::vector<double> costs(std::size_t layer) = 0;
  // and the `count` largest gradients at positions that `row_begin` and `column` do not hold, none of them
  // zero, in any order, with a few smaller ones. `outputs`, unless empty: only to these.
  virtual std::vector<PlacedGradient> largest_gradients(std::size_t layer,
                                                        std::span<const std::uint32_t> row_begin,
                                                        std::span<const std::uint16_t> column,
                                                        std::size_t count,
                                                        std::span<const std::uint32_t> outputs) = 0;
};

}  // namespace filigree::internal
