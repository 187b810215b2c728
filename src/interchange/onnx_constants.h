// SPDX-License-Identifier: Apache-2.0
// Constants of a graph: arrays of doubles, and what nodes make of them before any row comes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "interchange/flow.h"
#include "interchange/onnx_model.h"

namespace filigree::internal {

using Dims = std::vector<std::int64_t>;

// The number of rows, where a shape is computed from the rows themselves: no number.
inline constexpr double kRowCount = std::numeric_limits<double>::quiet_NaN();

// What nodes do to constants alone: null where this operator is none of them, or not of these inputs. Inputs
// that are left out are null.
std::optional<OnnxTensor> constant_result(const OnnxNode& node, std::span<const OnnxTensor* const> inputs,
                                          std::int64_t opset);

// With every element, whatever it was stored as. Throws Error where that takes more memory than there is.
OnnxTensor dense(const OnnxTensor& tensor);
OnnxTensor transposed(const OnnxTensor& tensor, const Dims& order);
std::int64_t product(std::span<const std::int64_t> dims);
// Dimension `axis`, which may be counted from the end.
std::size_t axis_of(std::int64_t axis, std::size_t rank);
// Whole numbers of a constant, or of an attribute: as older operator sets have axes and shapes.
Dims whole_numbers(const OnnxTensor& tensor);

// A matrix without the zeros, or with them; how many zeros were stored is added to `zeros`.
Weights weights_of(const OnnxTensor& matrix, bool keep_zeros, Offset& zeros);

}  // namespace filigree::internal
