// SPDX-License-Identifier: Apache-2.0
// Forward and backward through the layers for one slice of a batch: the part of a step that runs side by
// side.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "data/dataset.h"
#include "train/layer.h"
#include "train/loss.h"
#include "train/mixture.h"
#include "train/targets.h"

namespace filigree::internal {

// Some rows of a data set, as the first layer gets them.
struct Batch {
  const DataRows& data;
  const InputScaling& scaling;
  std::span<const Index> rows;
  const Targets& targets = plain_targets();

  static const Targets& plain_targets();  // classes, or values as they are, which count alike
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
  std::vector<Index> rows;                // the data rows behind the samples, -1 for none
  const InputScaling* scaling = nullptr;  // of the values of sparse rows

  Record(const std::vector<TrainLayer>& network, std::size_t samples);
};

// Panels for one slice of up to `widest` samples: 32 or 64 samples wide for sparse layers (64 are 10 to 30 %
// faster if there are as many), as wide as the slice for dense ones. A panel goes through all layers before
// the next one does, so that it stays in the caches; with a mixture the whole slice goes from layer to layer,
// or there would be too few samples for each expert.
class SlicePass {
 public:
  SlicePass(const std::vector<TrainLayer>& layers, const TrainOptions& options, std::size_t widest);

  // Runs `batch` and adds the gradients of the mean loss over `batch_size` samples to slice number `slice` of
  // the layers'. `key` decides what drops out; `first` is the place of the slice's first sample in the batch.
  // The loss is that of the last layer alone.
  LossSum train(std::vector<TrainLayer>& layers, const Batch& batch, std::size_t batch_size,
                std::size_t slice, std::uint64_t key, std::size_t first, Record* record);

  // What drops out at a level (the inputs' is 0) of the panel that begins with sample number `first` of the
  // batch.
  static std::uint32_t dropout_key(std::uint64_t key, std::size_t first, std::size_t level);
  // Samples of a panel in slices of up to `widest` samples.
  static std::size_t panel_samples(const TrainOptions& options, std::size_t widest);

  // The loss alone, without dropout or smoothing.
  // Fewer rows than all after a stop.
  LossSum evaluate(const std::vector<TrainLayer>& layers, const Batch& batch,
                   const std::stop_token& stop = {});

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  // From one level to the next.
  struct Stage {
    std::size_t layer = 0;  // of a mixture: the first expert
    std::unique_ptr<MixturePass> mixture = {};
    std::size_t exit = kNone;  // the head that reads the level it leads to
    Buffer<float> exit_y = {}, exit_delta = {};
  };
  // A slice's step under way: panels of one pass through the layers.
  struct Step {
    std::size_t slice = 0, batch_size = 0;
    std::uint64_t key = 0;
    std::size_t first = 0;
    Record* record = nullptr;
  };

  Batch panel(const Batch& batch, std::size_t p) const;
  float* level(std::size_t l, std::size_t p) { return activation_[l].data() + p * level_size_[l]; }
  std::uint32_t panel_key(const Step& step, std::size_t p, std::size_t level) const;
  void load(const std::vector<TrainLayer>& layers, const Batch& batch, std::size_t p, const Step* step);
  void forward(const std::vector<TrainLayer>& layers, const Batch& batch, const Step* step);
  void backward(std::vector<TrainLayer>& layers, const Batch& batch, const Step& step);
  void finish_delta(const std::vector<TrainLayer>& layers, const Step& step, std::size_t l, std::size_t p,
                    float* delta);
  void keep(const std::vector<TrainLayer>& layers, const Step& step, std::size_t layer, std::size_t l,
            std::size_t p, std::size_t samples, const float* delta);
  void keep_mixture(const std::vector<TrainLayer>& layers, const Batch& batch, const Step& step,
                    std::size_t l, MixturePass::Back& back);
  LossSum loss(LossFunction& function, const Batch& batch, const float* y, double scale,
               std::span<float> delta);

  const TrainOptions& options_;
  std::size_t stride_, panels_ = 1;  // samples of a panel; panels that go from layer to layer together
  LossFunction training_loss_, plain_loss_;
  std::vector<Stage> stages_;
  std::vector<std::size_t> level_size_;    // floats of a panel
  std::vector<Buffer<float>> activation_;  // per level; the inputs' is empty if they are sparse
  std::vector<Buffer<float>> sum_;         // before the activation, where the activation cannot tell it
  Buffer<float> delta_[2], exit_next_;
  std::vector<float> occurring_;  // the values of sparse rows, one after the other, after dropout
  std::vector<Index> labels_;
  std::vector<float> targets_, weights_;
};

}  // namespace filigree::internal
