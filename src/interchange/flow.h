// SPDX-License-Identifier: Apache-2.0
// A network in the making: what a reader of another program's file finds, one operation after the other, is
// folded into layers, in double and rounded once. A value that cannot be changed: operations make another, so
// that a graph may branch.
#pragma once

#include <memory>
#include <vector>

#include "network/layer.h"
#include "network/layer_source.h"
#include "network/network.h"

namespace filigree::internal {

// CSR in double, before it is rounded.
struct Weights {
  Index rows = 0, cols = 0;
  std::vector<Offset> row_begin = {0};
  std::vector<Index> column = {};
  std::vector<double> value = {};

  void end_row() { row_begin.push_back(std::ssize(column)); }
};

Weights to_weights(const CsrView& matrix);
Weights transposed(const Weights& weights);

class Flow {
 public:
  explicit Flow(Index inputs);  // the inputs of a network, as they come

  Index width() const { return static_cast<Index>(source_.size()); }
  Index inputs() const { return inputs_; }

  // W x + b; an empty bias is none. Throws Error if the widths differ.
  Flow multiplied(const Weights& weights, std::vector<double> bias = {}) const;
  // Each value times `scale` plus `shift`: one number for all, or one for each; empty: 1 and 0.
  Flow scaled(const std::vector<double>& scale, const std::vector<double>& shift) const;
  // Each activation() but relu takes what there is as it is.
  Flow activated(ActivationFunction activation) const;
  // min(max(x, least), most); either may be infinite.
  Flow clipped(double least, double most) const;
  // Value i is what was value from[i]; values may be left out and repeated.
  Flow selected(const std::vector<Index>& from) const;
  // Of a value that is another one, scaled: does this hold 1 − it? (as the first of two classes has it)
  bool is_one_minus(const Flow& other) const;
  // Do both compute the same, layer by layer?
  bool same(const Flow& other) const;

  // The network, its facts besides the scaling left to the caller. Throws Error if there are no layers.
  Network network(const std::string& name, NetworkFacts facts) const;

 private:
  bool plain() const;  // nothing is left to fold
  double scale_of(std::size_t i) const { return scale_.empty() ? 1 : scale_[i]; }
  double shift_of(std::size_t i) const { return shift_.empty() ? 0 : shift_[i]; }
  // The product that is open, rounded, with an activation behind it.
  Flow closed(ActivationFunction activation) const;
  // What scales each value before the first product, if that can be kept as it is.
  bool scales_inputs() const;

  Index inputs_ = 0;
  InputScaling scaling_ = {};                 // of the inputs
  std::vector<LayerPointer> done_ = {};       // whose values are open_'s inputs
  std::shared_ptr<const Weights> open_ = {};  // a product that has no activation yet; null: none
  std::vector<double> bias_ = {};             // of open_
  std::vector<Index> source_ = {};            // which value of open_, else of what is done, each value is
  std::vector<double> scale_, shift_;         // and what is done to it then; empty: nothing
};

}  // namespace filigree::internal
