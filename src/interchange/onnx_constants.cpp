// SPDX-License-Identifier: Apache-2.0
#include "interchange/onnx_constants.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "io/message_text.h"

namespace filigree::internal {

namespace {

constexpr std::int64_t kMostFilled = std::int64_t{1}
                                     << 30;  // elements of a sparse tensor that becomes a full one

OnnxTensor array(Dims dims, OnnxType type) {
  OnnxTensor tensor;
  tensor.dims = std::move(dims);
  tensor.type = type;
  return tensor;
}

// The shape of two arrays that are taken together, each repeated where it has one.
Dims broadcast_dims(const Dims& a, const Dims& b) {
  Dims dims(std::max(a.size(), b.size()));
  for (std::size_t d = 0; d < dims.size(); ++d) {
    const std::size_t from_end = dims.size() - d;
    const std::int64_t of_a = from_end > a.size() ? 1 : a[a.size() - from_end];
    const std::int64_t of_b = from_end > b.size() ? 1 : b[b.size() - from_end];
    if (of_a != of_b && of_a != 1 && of_b != 1)
      fail("arrays of {} and of {} cannot be taken together", fmt::join(a, "×"), fmt::join(b, "×"));
    dims[d] = of_a == 1 ? of_b : of_a;
  }
  return dims;
}

// The element of an array of `dims` behind number `i` of one of `whole`.
std::size_t behind(std::size_t i, const Dims& whole, const Dims& dims) {
  std::size_t at = 0, step = 1;
  for (std::size_t back = 1; back <= whole.size(); ++back) {
    const std::size_t index = i % whole[whole.size() - back];
    i /= whole[whole.size() - back];
    if (back > dims.size()) continue;
    const std::int64_t size = dims[dims.size() - back];
    if (size > 1) at += index * step;
    step *= size;
  }
  return at;
}

template <typename Op>
OnnxTensor combined(const OnnxTensor& a, const OnnxTensor& b, const Op& op) {
  const OnnxTensor x = dense(a), y = dense(b);
  OnnxTensor result = array(broadcast_dims(x.dims, y.dims), x.type);
  result.values.resize(result.elements());
  for (std::size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = op(x.values[behind(i, result.dims, x.dims)], y.values[behind(i, result.dims, y.dims)]);
  return result;
}

template <typename Op>
OnnxTensor mapped(const OnnxTensor& a, const Op& op) {
  OnnxTensor result = dense(a);
  for (double& value : result.values) value = op(value);
  return result;
}

OnnxTensor with_dims(OnnxTensor tensor, Dims dims) {
  if (product(dims) != tensor.elements())
    fail("{} elements in the shape {}", tensor.elements(), fmt::join(dims, "×"));
  tensor.dims = std::move(dims);
  return tensor;
}

OnnxTensor reshaped(const OnnxTensor& tensor, Dims dims) {
  std::int64_t known = 1, open = -1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && d < tensor.dims.size()) dims[d] = tensor.dims[d];
    if (dims[d] == -1)
      open = static_cast<std::int64_t>(d);
    else
      known *= dims[d];
  }
  if (open >= 0) dims[open] = known == 0 ? 0 : tensor.elements() / known;
  return with_dims(tensor, std::move(dims));
}

// The axes that a node names: an attribute in older operator sets, an input in newer ones.
std::optional<Dims> axes(const OnnxNode& node, std::span<const OnnxTensor* const> inputs) {
  if (const OnnxAttribute* const attribute = node.find("axes")) return attribute->wholes;
  if (inputs.size() > 1 && inputs[1] != nullptr) return whole_numbers(*inputs[1]);
  return std::nullopt;
}

OnnxTensor squeezed(const OnnxTensor& tensor, const std::optional<Dims>& named) {
  Dims dims;
  for (std::size_t d = 0; d < tensor.dims.size(); ++d) {
    const bool goes =
        named ? std::ranges::any_of(*named,
                                    [&](std::int64_t axis) { return axis_of(axis, tensor.dims.size()) == d; })
              : tensor.dims[d] == 1;
    if (!goes) dims.push_back(tensor.dims[d]);
  }
  return with_dims(tensor, std::move(dims));
}

OnnxTensor unsqueezed(const OnnxTensor& tensor, const Dims& named) {
  Dims dims(tensor.dims.size() + named.size(), 0);
  for (const std::int64_t axis : named) dims[axis_of(axis, dims.size())] = 1;
  auto next = tensor.dims.begin();
  for (std::int64_t& dim : dims)
    if (dim == 0 && next != tensor.dims.end()) dim = *next++;
  return with_dims(tensor, std::move(dims));
}

OnnxTensor gathered(const OnnxTensor& tensor, const OnnxTensor& indices, std::int64_t axis) {
  const OnnxTensor data = dense(tensor);
  if (axis_of(axis, data.dims.size()) != 0) fail("elements are gathered along axis {}", axis);
  const std::int64_t rows = data.dims[0], width = rows == 0 ? 0 : data.elements() / rows;
  Dims dims = indices.dims;
  dims.insert(dims.end(), data.dims.begin() + 1, data.dims.end());
  OnnxTensor result = array(std::move(dims), data.type);
  for (const double index : indices.values) {
    const double row = index < 0 ? index + static_cast<double>(rows) : index;
    if (!(row >= 0 && row < static_cast<double>(rows))) fail("element {} of {}", index, rows);
    const auto first = data.values.begin() + static_cast<std::int64_t>(row) * width;
    result.values.insert(result.values.end(), first, first + width);
  }
  return result;
}

OnnxTensor joined_in_a_row(std::span<const OnnxTensor* const> inputs) {
  OnnxTensor result = array({0}, inputs[0]->type);
  for (const OnnxTensor* const input : inputs) {
    if (input == nullptr || input->dims.size() > 1) fail("arrays of more than one dimension are joined");
    const OnnxTensor each = dense(*input);
    result.values.insert(result.values.end(), each.values.begin(), each.values.end());
  }
  result.dims[0] = std::ssize(result.values);
  return result;
}

// (x − zero) · scale, either one for all or one for each along an axis.
OnnxTensor dequantized(const OnnxNode& node, std::span<const OnnxTensor* const> inputs) {
  const OnnxTensor& x = *inputs[0];
  const auto along = [&](const OnnxTensor& parameter) {
    if (parameter.elements() == 1) return with_dims(parameter, {});
    Dims dims(x.dims.size(), 1);
    dims[axis_of(node.whole("axis", 1), dims.size())] = parameter.elements();
    return with_dims(parameter, std::move(dims));
  };
  OnnxTensor result = x;
  if (inputs.size() > 2 && inputs[2] != nullptr) result = combined(result, along(*inputs[2]), std::minus<>());
  result = combined(result, along(*inputs[1]), std::multiplies<>());
  result.type = OnnxType::float32;
  return result;
}

OnnxTensor constant_node(const OnnxNode& node) {
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.tensor) return *attribute.tensor;
    OnnxTensor tensor;
    if (attribute.name == "value_float") {
      tensor.values = {attribute.number};
    } else if (attribute.name == "value_int") {
      tensor.values = {static_cast<double>(attribute.whole)};
    } else if (attribute.name == "value_floats") {
      tensor.values = attribute.numbers;
      tensor.dims = {std::ssize(tensor.values)};
    } else if (attribute.name == "value_ints") {
      tensor.values.assign(attribute.wholes.begin(), attribute.wholes.end());
      tensor.dims = {std::ssize(tensor.values)};
    } else {
      continue;
    }
    return tensor;
  }
  fail("the constant has no value");
}

}  // namespace

std::int64_t product(std::span<const std::int64_t> dims) {
  OnnxTensor shape;
  shape.dims.assign(dims.begin(), dims.end());
  return shape.elements();
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const std::int64_t from_start = axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
  if (from_start < 0 || from_start >= static_cast<std::int64_t>(rank))
    fail("axis {} of {} dimensions", axis, rank);
  return from_start;
}

Dims whole_numbers(const OnnxTensor& tensor) {
  Dims numbers;
  for (const double value : dense(tensor).values) {
    if (!(std::fabs(value) < 0x1p53) && !std::isnan(value)) fail("a dimension of {}", value);
    numbers.push_back(std::isnan(value) ? 0 : static_cast<std::int64_t>(value));
  }
  return numbers;
}

OnnxTensor dense(const OnnxTensor& tensor) {
  if (!tensor.indices) return tensor;
  const std::int64_t elements = tensor.elements();
  if (elements > kMostFilled)
    fail("sparse tensor {} has {} elements, too many to fill in", in_quotes(tensor.name), elements);
  OnnxTensor result = array(tensor.dims, tensor.type);
  result.name = tensor.name;
  result.values.assign(elements, 0.0);
  for (std::size_t i = 0; i < tensor.values.size(); ++i)
    result.values[(*tensor.indices)[i]] = tensor.values[i];
  return result;
}

OnnxTensor transposed(const OnnxTensor& tensor, const Dims& order) {
  const std::size_t rank = tensor.dims.size();
  if (order.size() != rank) fail("{} axes are put in order, but there are {}", order.size(), rank);
  std::vector<std::int64_t> step(rank, 1);
  for (std::size_t d = rank; d-- > 1;) step[d - 1] = step[d] * tensor.dims[d];
  OnnxTensor result = array({}, tensor.type);
  result.name = tensor.name;
  std::vector<std::int64_t> from;  // step in `tensor` of each dimension of the result
  for (const std::int64_t axis : order) {
    result.dims.push_back(tensor.dims[axis_of(axis, rank)]);
    from.push_back(step[axis_of(axis, rank)]);
  }
  if (tensor.indices) {
    if (rank != 2) return transposed(dense(tensor), order);
    if (order == Dims{0, 1}) return tensor;
    std::vector<std::pair<std::int64_t, double>> entries;
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      const std::int64_t at = (*tensor.indices)[i];
      entries.emplace_back(at % tensor.dims[1] * tensor.dims[0] + at / tensor.dims[1], tensor.values[i]);
    }
    std::ranges::sort(entries, {}, &std::pair<std::int64_t, double>::first);
    result.indices.emplace();
    for (const auto& [at, value] : entries) {
      result.indices->push_back(at);
      result.values.push_back(value);
    }
    return result;
  }
  result.values.resize(tensor.values.size());
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t at = 0;
  for (double& value : result.values) {
    value = tensor.values[at];
    for (std::size_t d = rank; d-- > 0;) {
      at += from[d];
      if (++index[d] < result.dims[d]) break;
      at -= from[d] * result.dims[d];
      index[d] = 0;
    }
  }
  return result;
}

std::optional<OnnxTensor> constant_result(const OnnxNode& node, std::span<const OnnxTensor* const> inputs,
                                          std::int64_t opset) {
  const std::string& type = node.type;
  if (type == "Constant") return constant_node(node);
  if (inputs.empty() || inputs[0] == nullptr) return std::nullopt;
  const OnnxTensor& x = *inputs[0];
  if (type == "Identity" || type == "Cast" || type == "Dropout") return x;
  if (inputs.size() == 2 && inputs[1] != nullptr) {
    if (type == "Add") return combined(x, *inputs[1], std::plus<>());
    if (type == "Sub") return combined(x, *inputs[1], std::minus<>());
    if (type == "Mul") return combined(x, *inputs[1], std::multiplies<>());
    if (type == "Div") return combined(x, *inputs[1], std::divides<>());
    if (type == "Pow") return combined(x, *inputs[1], [](double a, double b) { return std::pow(a, b); });
    if (type == "Gather") return gathered(x, *inputs[1], node.whole("axis", 0));
  }
  if (type == "Neg") return mapped(x, std::negate<>());
  if (type == "Sqrt") return mapped(x, [](double v) { return std::sqrt(v); });
  if (type == "Reciprocal") return mapped(x, [](double v) { return 1 / v; });
  if (type == "Transpose") {
    Dims order(x.dims.size());
    std::iota(order.rbegin(), order.rend(), 0);
    if (const OnnxAttribute* const perm = node.find("perm")) order = perm->wholes;
    return transposed(x, order);
  }
  if (type == "Reshape") {
    const OnnxAttribute* const shape = opset < 5 ? node.find("shape") : nullptr;
    if (shape == nullptr && (inputs.size() < 2 || inputs[1] == nullptr)) return std::nullopt;
    return reshaped(x, shape != nullptr ? shape->wholes : whole_numbers(*inputs[1]));
  }
  if (type == "Flatten") {
    const std::size_t axis = node.whole("axis", 1) == static_cast<std::int64_t>(x.dims.size())
                                 ? x.dims.size()
                                 : axis_of(node.whole("axis", 1), x.dims.size());
    return with_dims(x, {product(std::span(x.dims).first(axis)), product(std::span(x.dims).subspan(axis))});
  }
  if (type == "Squeeze") return squeezed(x, axes(node, inputs));
  if (type == "Unsqueeze") return unsqueezed(x, axes(node, inputs).value_or(Dims{0}));
  if (type == "Concat") return joined_in_a_row(inputs);
  if (type == "DequantizeLinear" && inputs.size() > 1 && inputs[1] != nullptr)
    return dequantized(node, inputs);
  return std::nullopt;
}

Weights weights_of(const OnnxTensor& matrix, bool keep_zeros, Offset& zeros) {
  if (matrix.dims.size() != 2) fail("a matrix of {} dimensions", matrix.dims.size());
  constexpr std::int64_t kMostNeurons = 1 << 24;
  if (matrix.dims[0] > kMostNeurons || matrix.dims[1] > kMostNeurons)
    fail("a matrix of {}", fmt::join(matrix.dims, "×"));
  Weights weights{static_cast<Index>(matrix.dims[0]), static_cast<Index>(matrix.dims[1])};
  std::size_t next = 0;
  const std::size_t width = weights.cols;
  for (std::size_t r = 0; r < static_cast<std::size_t>(weights.rows); ++r) {
    const auto take = [&](std::size_t c, double value) {
      if (value == 0) ++zeros;
      if (value == 0 && !keep_zeros) return;
      weights.column.push_back(static_cast<Index>(c));
      weights.value.push_back(value);
    };
    if (matrix.indices) {
      for (; next < matrix.values.size() &&
             (*matrix.indices)[next] < static_cast<std::int64_t>((r + 1) * width);
           ++next)
        take((*matrix.indices)[next] - r * width, matrix.values[next]);
    } else {
      for (std::size_t c = 0; c < width; ++c) take(c, matrix.values[r * width + c]);
    }
    weights.end_row();
  }
  return weights;
}

}  // namespace filigree::internal
