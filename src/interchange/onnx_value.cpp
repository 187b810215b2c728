// SPDX-License-Identifier: Apache-2.0
#include "interchange/onnx_value.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace filigree::internal {

std::int64_t width_of(const Dims& dims) {
  Dims own;
  std::ranges::copy_if(dims, std::back_inserter(own), [](std::int64_t d) { return d != kRows; });
  return product(own);
}

std::string text_of(const Dims& dims) {
  std::string text;
  for (const std::int64_t dim : dims)
    text += (text.empty() ? "" : "×") + (dim == kRows ? std::string("rows") : std::to_string(dim));
  return text.empty() ? "a single number" : text;
}

Value constant_value(OnnxTensor tensor) {
  Value value{Value::Kind::constant};
  value.constant = std::make_shared<const OnnxTensor>(std::move(tensor));
  return value;
}
Value flow_value(Flow flow, Dims dims, const Value& like) {
  Value value{Value::Kind::flow};
  value.flow = std::make_shared<const Flow>(std::move(flow));
  value.dims = std::move(dims);
  value.single_row = like.single_row;
  value.steps = like.steps;
  value.unit = like.unit;
  return value;
}

const Value& needs_flow(const Value& value) {
  if (value.kind != Value::Kind::flow)
    fail("it computes with {}, which only an output is made of",
         value.kind == Value::Kind::label ? "the class" : "probabilities");
  return value;
}
const OnnxTensor& needs_constant(Inputs inputs, std::size_t i, const char* what) {
  if (i >= inputs.size() || inputs[i] == nullptr || inputs[i]->kind != Value::Kind::constant)
    fail("its {} is no constant", what);
  return *inputs[i]->constant;
}
double single(const OnnxTensor& tensor, const char* what) {
  const OnnxTensor full = dense(tensor);
  if (full.values.empty() || std::ranges::any_of(full.values, [&](double v) { return v != full.values[0]; }))
    fail("its {} is not one number for all values", what);
  return full.values[0];
}

namespace {

// W for `outer` groups of values side by side, each multiplied by the same matrix.
Weights repeated(const Weights& weights, Index outer) {
  if (outer == 1) return weights;
  Weights result{weights.rows * outer, weights.cols * outer};
  for (Index o = 0; o < outer; ++o)
    for (Index r = 0; r < weights.rows; ++r) {
      for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e) {
        result.column.push_back(weights.column[e] + o * weights.cols);
        result.value.push_back(weights.value[e]);
      }
      result.end_row();
    }
  return result;
}

struct Pairs {
  std::vector<Index> from;       // which value of the flow each is
  std::vector<double> constant;  // with which number it meets
  Dims dims;
  bool same = true;  // `from` is every value in order
};

Pairs paired(const Value& x, const OnnxTensor& given) {
  const OnnxTensor constant = dense(given);
  Pairs pairs;
  pairs.dims.resize(std::max(x.dims.size(), constant.dims.size()), 1);
  const std::size_t rank = pairs.dims.size();
  std::vector<std::int64_t> x_step(rank, 0), c_step(rank, 0);
  std::int64_t x_next = 1, c_next = 1;
  for (std::size_t back = 1; back <= rank; ++back) {
    const std::size_t d = rank - back;
    const std::int64_t of_x = back <= x.dims.size() ? x.dims[x.dims.size() - back] : 1;
    const std::int64_t of_c = back <= constant.dims.size() ? constant.dims[constant.dims.size() - back] : 1;
    if (of_x == kRows && of_c != 1) fail("a constant that differs from row to row");
    if (of_x != kRows && of_x != of_c && of_x != 1 && of_c != 1)
      fail("values of shape {} with a constant of {}", text_of(x.dims), text_of(constant.dims));
    pairs.dims[d] = of_x == 1 && of_c != 1 ? of_c : of_x;
    if (of_x > 1) x_step[d] = x_next;
    if (of_c > 1) c_step[d] = c_next;
    if (of_x != kRows) x_next *= of_x;
    c_next *= of_c;
  }
  const std::int64_t width = width_of(pairs.dims);
  if (width > (1 << 24)) fail("{} values in a row", width);
  std::vector<std::int64_t> index(rank, 0);
  for (std::int64_t i = 0; i < width; ++i) {
    std::int64_t from = 0, at = 0;
    for (std::size_t d = 0; d < rank; ++d) from += index[d] * x_step[d], at += index[d] * c_step[d];
    pairs.same &= from == i;
    pairs.from.push_back(static_cast<Index>(from));
    pairs.constant.push_back(constant.values.at(at));
    for (std::size_t d = rank; d-- > 0;) {
      if (pairs.dims[d] == kRows) continue;
      if (++index[d] < pairs.dims[d]) break;
      index[d] = 0;
    }
  }
  pairs.same &= width == x.flow->width();
  return pairs;
}

Flow meeting(const Value& x, const Pairs& pairs) {
  return pairs.same ? *x.flow : x.flow->selected(pairs.from);
}

}  // namespace

Value times(const Value& x, const Weights& weights, std::size_t axis) {
  Dims dims = x.dims;
  if (dims.at(axis) != weights.cols)
    fail("a product of values of shape {} with {} inputs", text_of(dims), weights.cols);
  const std::int64_t outer = width_of(dims) / std::max<std::int64_t>(1, weights.cols);
  for (std::size_t d = axis + 1; d < dims.size(); ++d)
    if (dims[d] != kRows && dims[d] != 1) fail("a product along dimension {} of {}", axis, text_of(dims));
  if (outer * std::max(weights.rows, weights.cols) > (1 << 24) ||
      outer * std::ssize(weights.column) > (std::int64_t{1} << 30))
    fail("{} times the same product", outer);
  dims[axis] = weights.rows;
  return flow_value(x.flow->multiplied(repeated(weights, static_cast<Index>(outer))), dims, x);
}

Value shifted(const Value& x, const OnnxTensor& constant, double sign) {
  Pairs pairs = paired(x, constant);
  for (double& c : pairs.constant) c *= sign;
  return flow_value(meeting(x, pairs).scaled({}, pairs.constant), pairs.dims, x);
}

Value stretched(const Value& x, const OnnxTensor& constant, bool divided) {
  Pairs pairs = paired(x, constant);
  for (double& c : pairs.constant) {
    if (divided && c == 0) fail("a division by zero");
    if (divided) c = 1 / c;
  }
  return flow_value(meeting(x, pairs).scaled(pairs.constant, {}), pairs.dims, x);
}

Value turned(const Value& x, const Dims& order) {
  if (order.size() != x.dims.size())
    fail("{} axes in another order, but there are {}", order.size(), x.dims.size());
  Dims dims;
  std::vector<std::int64_t> step(x.dims.size(), 0), from;
  std::int64_t next = 1;
  for (std::size_t d = x.dims.size(); d-- > 0;) {
    if (x.dims[d] == kRows) continue;
    step[d] = next;
    next *= x.dims[d];
  }
  for (const std::int64_t axis : order) {
    dims.push_back(x.dims[axis_of(axis, x.dims.size())]);
    from.push_back(step[axis_of(axis, x.dims.size())]);
  }
  std::vector<Index> selected;
  bool same = true;
  std::vector<std::int64_t> index(dims.size(), 0);
  for (std::int64_t i = 0; i < width_of(dims); ++i) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) at += index[d] * from[d];
    selected.push_back(static_cast<Index>(at));
    same &= at == i;
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (dims[d] == kRows) continue;
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return flow_value(same ? *x.flow : x.flow->selected(selected), dims, x);
}

Value reshaped(const Value& x, Dims target) {
  for (std::size_t d = 0; d < target.size(); ++d)
    if (target[d] == 0) target[d] = d < x.dims.size() && x.dims[d] != kRows ? x.dims[d] : 0;
  const std::size_t rows = std::ranges::find(x.dims, kRows) - x.dims.begin();
  const bool apart = rows == x.dims.size() || product(std::span(x.dims).first(rows)) == 1;
  const std::int64_t width = width_of(x.dims);
  std::int64_t before = 1;
  for (std::size_t p = 0; apart && p < target.size() && before == 1; before *= target[p++]) {
    // A 0 is the rows' dimension as it was, -1 whatever fits, 1 a single row.
    if (target[p] != 0 && target[p] != -1 && !(target[p] == 1 && x.single_row)) continue;
    Dims rest(target.begin() + static_cast<std::ptrdiff_t>(p) + 1, target.end());
    std::int64_t known = 1;
    const auto open = std::ranges::find(rest, -1);
    for (const std::int64_t dim : rest) known *= dim == -1 ? 1 : dim;
    if (open != rest.end() && target[p] != -1 && known > 0 && width % known == 0)
      *open = width / known, known = width;
    if (known != width || std::ranges::any_of(rest, [](std::int64_t d) { return d < 1; })) continue;
    Dims dims(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(p));
    dims.push_back(kRows);
    dims.insert(dims.end(), rest.begin(), rest.end());
    return flow_value(*x.flow, dims, x);
  }
  if (apart && x.single_row && target.size() == 1 && (target[0] == width || target[0] == -1))
    return flow_value(*x.flow, {width}, x);
  fail("values of shape {} are put into {}", text_of(x.dims), text_of(target));
}

}  // namespace filigree::internal
