// Forward and backward through the layers for one slice of a batch: the part of a step that runs side by
// side.
#pragma once

#include <span>
#include <vector>

#include "base/buffer.h"
#include "data/dataset.h"
#include "train/layer.h"
#include "train/loss.h"

namespace filigree {

// Some rows of a data set, as the first layer gets them.
struct Batch {
  const DataRows& data;
  const InputScaling& scaling;
  std::span<const Index> rows;
};

// What a growing topology needs to know of a batch: the inputs of each layer and the gradients at its
// outputs, neuron-major with `width` samples a neuron (zero where there is no sample).
struct Record {
  struct LayerRecord {
    Buffer<float> x;      // inputs × width; empty for a layer that reads sparse rows
    Buffer<float> delta;  // outputs × width
  };
  std::size_t width = 0;
  std::vector<LayerRecord> layers;
  std::vector<Index> rows;  // the data rows behind the samples, -1 for none

  Record(const std::vector<TrainLayer>& network, std::size_t samples);
};

// Panels for one slice of up to `widest` samples: 32 or 64 samples wide for sparse layers (64 are 10 to 30 %
// faster if there are as many), as wide as the slice for dense ones.
class SlicePass {
 public:
  SlicePass(const std::vector<TrainLayer>& layers, const TrainOptions& options, std::size_t widest);

  // Runs `batch` and adds the gradients of the mean loss over `batch_size` samples to slice number `slice` of
  // the layers'. `key` decides what drops out; `first` is the place of the slice's first sample in the batch.
  LossSum train(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t batch_size,
                std::size_t slice, std::uint64_t key, std::size_t first, Record* record);

  // The loss alone, without dropout or smoothing.
  LossSum evaluate(const std::vector<TrainLayer>& layers, const Batch& batch);

 private:
  void forward(const std::vector<TrainLayer>& layers, const Batch& batch, std::uint64_t key, bool drop);
  void backward(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t slice, std::uint64_t key);
  LossSum loss(LossFunction& function, const Batch& batch, double scale, std::span<float> delta);

  const TrainOptions& options_;
  std::size_t stride_;
  LossFunction training_loss_, plain_loss_;
  std::vector<Index> labels_;
  std::vector<Buffer<float>>
      activation_;                  // [0]: inputs (empty if they are sparse), then each layer's outputs
  std::vector<float> occurring_;    // the values of sparse rows, one after the other, after dropout
  std::vector<Buffer<float>> sum_;  // before the activation, where the activation cannot tell it
  Buffer<float> delta_[2];
  Record* record_ = nullptr;
  std::size_t first_ = 0;
};

}  // namespace filigree
