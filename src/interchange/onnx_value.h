// SPDX-License-Identifier: Apache-2.0
// What the names of an ONNX graph stand for while it is read, and what is done to them: products, one number
// for each value, shapes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "interchange/flow.h"
#include "interchange/onnx_constants.h"

namespace filigree::internal {

inline constexpr std::int64_t kRows = -1;  // the dimension of the rows, in a shape

// How integers stand for numbers: (q − zero) · scale.
struct Quantization {
  double scale = 1, zero = 0;
  bool operator==(const Quantization&) const = default;
};

// What a name stands for while the graph is read.
struct Value {
  enum class Kind {
    constant,       // an array
    flow,           // numbers that follow from each row
    probabilities,  // of a flow that holds what they are made of
    label,          // the class that is chosen by them
    scale,          // of integers that are made of each batch anew: `factor` times an unknown one
    large,          // whether each number of a flow is larger than `factor`
    failed,         // something that cannot be computed here
  };
  Kind kind = Kind::failed;
  std::shared_ptr<const OnnxTensor> constant = {};
  std::shared_ptr<const Flow> flow = {};
  Dims dims = {};           // of a flow: kRows once, or never where there is a single row
  bool single_row = false;  // the file speaks of one row
  std::optional<Quantization> steps = {};
  int unit = 0;  // of which unknown scale the flow is a multiple; 0: of none
  double factor = 1;
  std::optional<Loss> loss = {};
  std::vector<std::string> names = {};
  std::string why = {};  // it failed
};

using Inputs = std::span<const Value* const>;  // of a node; those left out are null

Value constant_value(OnnxTensor tensor);
// Of the same rows and integers as another.
Value flow_value(Flow flow, Dims dims, const Value& like);

std::int64_t width_of(const Dims& dims);  // values in a row
std::string text_of(const Dims& dims);    // "rows×3×4"

// What a node needs; Error where it has something else.
const Value& needs_flow(const Value& value);
const OnnxTensor& needs_constant(Inputs inputs, std::size_t i, const char* what);
double single(const OnnxTensor& tensor, const char* what);  // all its numbers are the same

// rows × W along one dimension: `weights` has a row for each output.
Value times(const Value& x, const Weights& weights, std::size_t axis);
// Plus a constant times `sign`, or multiplied by one or divided, which may be repeated along dimensions of
// one.
Value shifted(const Value& x, const OnnxTensor& constant, double sign);
Value stretched(const Value& x, const OnnxTensor& constant, bool divided);
// Dimensions in another order; another shape, in which values stay in their order, and rows apart.
Value turned(const Value& x, const Dims& order);
Value reshaped(const Value& x, Dims target);

}  // namespace filigree::internal
