// SPDX-License-Identifier: Apache-2.0
// A mixture of experts in training: which samples go where, and the way there and back.
#pragma once

#include <array>
#include <vector>

#include "base/buffer.h"
#include "kernels/panel_pass.h"
#include "train/layer.h"

namespace filigree::internal {

// The layers of a mixture among those of a network.
struct MixturePlace {
  std::size_t gate = 0, first = 0, experts = 0;
};

// Samples of one slice, panel after panel; sample b is number b % stride of panel b / stride. Each goes to
// the `active` experts with the largest logits z of the gate, y = the sum of g · expert(x) over those: g is
// the softmax of z among the chosen, or, if only one is, its softmax among all (or the gate would never
// learn).
class MixturePass {
 public:
  MixturePass(const std::vector<TrainLayer>& layers, const MixturePlace& place, std::size_t active,
              std::size_t stride, std::size_t panels);

  const MixturePlace& place() const { return layers_; }
  void forward(const std::vector<TrainLayer>& layers, const float* x, std::size_t samples, float* y);

  // `delta`: the gradient at y. `next`, unless null, becomes that at x. The balancing loss is `balance` times
  // experts × the sum over experts of (share of the choices that fell on it) × (mean softmax): smallest if
  // all experts get the same; only the softmax has a gradient. `delta_of`, unless it is empty: for each
  // expert a place for the gradients at its sums, neuron-major with `width` samples, zero for those it was
  // not given.
  struct Back {
    const float* delta = nullptr;
    bool gated = false;
    float* next = nullptr;
    double balance = 0;
    std::vector<float*> delta_of = {};  // from the slice's first sample on
    std::size_t width = 0;
  };
  void backward(std::vector<TrainLayer>& layers, std::size_t slice, const float* x, const Back& back);

  const float* gate_delta(std::size_t panel) const {
    return delta_.data() + panel * layers_.experts * stride_;
  }

 private:
  // Samples of one expert, gathered into a panel of their own.
  struct Panel {
    std::size_t expert = 0, width = 0;
    std::vector<std::uint32_t> sample;
    std::vector<float> weight;
    std::size_t x = 0, y = 0;  // where it begins in the pools
  };

  void choose(std::size_t samples);
  std::size_t place_of(std::size_t sample, std::size_t neurons) const {
    return sample / stride_ * neurons * stride_ + sample % stride_;
  }
  std::vector<std::size_t> chosen() const;  // choices of the last forward pass, by expert
  void places_of(const Panel& panel, std::size_t neurons);
  void add_gate_gradient(std::size_t samples, double balance);

  MixturePlace layers_;
  std::size_t active_, stride_;
  std::size_t inputs_, outputs_, samples_ = 0;
  std::vector<Panel> panels_;
  std::array<std::size_t, kWidePanelRows> place_ = {};  // of the samples of the panel in hand
  Buffer<float> x_, y_, sum_;                           // of all experts' panels
  Buffer<float> logit_, share_, delta_;                 // of the gate
  std::vector<float> weight_gradient_;                  // samples × experts
  std::vector<std::uint8_t> is_chosen_;                 // the same
  Buffer<float> expert_delta_, next_;                   // of one panel
  std::vector<float> highest_, log_sum_;
};

}  // namespace filigree::internal
