// SPDX-License-Identifier: Apache-2.0
// Where new connections go: the largest gradients among positions that have none, or positions at random.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/pass.h"

namespace filigree::internal {

// A position in a layer's matrix and the gradient of the mean loss there.
struct Candidate {
  float gradient = 0;
  std::uint32_t row = 0, column = 0;
};

// Largest first; equal ones in the order of their positions, so that the choice is one.
bool larger(const Candidate& a, const Candidate& b);

// The `count` largest gradients (by magnitude, none of them zero) at positions that `taken` does not hold,
// in any order. The dense gradient never exists: blocks of it are computed and forgotten, and what cannot be
// large (by the Cauchy–Schwarz bound on norms) is not even computed. `outputs`: only to
// these neurons.
std::vector<Candidate> largest_gradients(const TrainLayer& layer, const Record::LayerRecord& record,
                                         const Record& samples, const DataRows& data, const Pattern& taken,
                                         std::size_t count, std::span<const std::uint32_t> outputs);

// The k neurons with the highest cost, ascending.
std::vector<std::uint32_t> costliest_neurons(std::span<const double> costs, std::size_t k);

// What evolution asks of the samples that decide what grows, wherever they are kept.
class GrowthView {
 public:
  virtual ~GrowthView() = default;
  // Of each output of layer number `l`: the sum of |gradient| there over the samples.
  virtual std::vector<double> costs(std::size_t l) const = 0;
  // See largest_gradients().
  virtual std::vector<Candidate> largest(std::size_t l, const Pattern& taken, std::size_t count,
                                         std::span<const std::uint32_t> outputs) const = 0;
};

// Samples in a Record.
class RecordedGrowth final : public GrowthView {
 public:
  RecordedGrowth(const std::vector<TrainLayer>& layers, const Record& record, const DataRows& data)
      : layers_(layers), record_(record), data_(data) {}
  std::vector<double> costs(std::size_t l) const override;
  std::vector<Candidate> largest(std::size_t l, const Pattern& taken, std::size_t count,
                                 std::span<const std::uint32_t> outputs) const override {
    return largest_gradients(layers_[l], record_.layers[l], record_, data_, taken, count, outputs);
  }

 private:
  const std::vector<TrainLayer>& layers_;
  const Record& record_;
  const DataRows& data_;
};

// The `count` largest of `found`, in any order.
void keep_largest(std::vector<Candidate>& found, std::size_t count);

// `count` positions at random that neither `taken` nor `chosen` holds, appended to `chosen`; fewer if there
// are fewer.
void choose_at_random(const Pattern& taken, std::size_t count, Random& random,
                      std::vector<Candidate>& chosen);

}  // namespace filigree::internal
