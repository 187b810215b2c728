// SPDX-License-Identifier: Apache-2.0
#include "interchange/flow.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace filigree::internal {

namespace {

std::vector<Index> counted(Index count) {
  std::vector<Index> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

bool is_counted(const std::vector<Index>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != static_cast<Index>(i)) return false;
  return true;
}

float rounded(double value, const char* what) {
  const auto single = static_cast<float>(value);
  if (!std::isfinite(single)) fail("a {} is {}, which no 32-bit float holds", what, value);
  return single;
}

Weights identity(Index size) {
  Weights weights{size, size};
  for (Index i = 0; i < size; ++i) {
    weights.column.push_back(i);
    weights.value.push_back(1);
    weights.end_row();
  }
  return weights;
}

bool all_are(const std::vector<double>& values, double wanted) {
  return std::ranges::all_of(values, [&](double v) { return v == wanted; });
}

}  // namespace

Weights to_weights(const CsrView& matrix) {
  return {matrix.rows,
          matrix.cols,
          {matrix.row_begin.begin(), matrix.row_begin.end()},
          {matrix.column.begin(), matrix.column.end()},
          {matrix.value.begin(), matrix.value.end()}};
}

Weights transposed(const Weights& weights) {
  Weights result{weights.cols, weights.rows};
  result.row_begin.assign(weights.cols + std::size_t{1}, 0);
  for (const Index c : weights.column) ++result.row_begin[c + std::size_t{1}];
  std::partial_sum(result.row_begin.begin(), result.row_begin.end(), result.row_begin.begin());
  std::vector<Offset> next(result.row_begin.begin(), result.row_begin.end() - 1);
  result.column.resize(weights.column.size());
  result.value.resize(weights.value.size());
  for (Index r = 0; r < weights.rows; ++r)
    for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e) {
      const Offset to = next[weights.column[e]]++;
      result.column[to] = r;
      result.value[to] = weights.value[e];
    }
  return result;
}

Flow::Flow(Index inputs) : inputs_(inputs), source_(counted(inputs)) {}

Flow Flow::scaled(const std::vector<double>& scale, const std::vector<double>& shift) const {
  Flow result = *this;
  const std::size_t width = source_.size();
  const auto at = [](const std::vector<double>& values, std::size_t i, double otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : i];
  };
  result.scale_.resize(width);
  result.shift_.resize(width);
  for (std::size_t i = 0; i < width; ++i) {
    result.scale_[i] = scale_of(i) * at(scale, i, 1);
    result.shift_[i] = shift_of(i) * at(scale, i, 1) + at(shift, i, 0);
  }
  if (all_are(result.scale_, 1)) result.scale_.clear();
  if (all_are(result.shift_, 0)) result.shift_.clear();
  return result;
}

bool Flow::plain() const {
  return scale_.empty() && shift_.empty() && is_counted(source_);
}

bool Flow::scales_inputs() const {
  return done_.empty() && open_ == nullptr && scaling_.none() && (!scale_.empty() || !shift_.empty()) &&
         is_counted(source_) && std::ssize(source_) == inputs_ &&
         std::ranges::none_of(scale_, [](double s) { return s == 0 || !std::isfinite(s); });
}

Flow Flow::multiplied(const Weights& weights, std::vector<double> bias) const {
  if (weights.cols != width()) fail("a product takes {} values, but there are {}", weights.cols, width());
  if (open_ != nullptr) return closed(Activation::identity).multiplied(weights, std::move(bias));
  Flow result = *this;
  if (scales_inputs()) {
    // x · s + t is (x − m) · s for m = −t / s: exactly what was there, if it was a difference and a product.
    for (std::size_t i = 0; i < source_.size(); ++i) {
      if (!shift_.empty()) result.scaling_.mean.push_back(rounded(-shift_[i] / scale_of(i), "shift"));
      if (!scale_.empty()) result.scaling_.scale.push_back(rounded(scale_[i], "scale"));
    }
    result.scale_.clear();
    result.shift_.clear();
    return result.multiplied(weights, std::move(bias));
  }
  bias.resize(weights.rows, 0.0);
  auto folded = std::make_shared<Weights>(weights);
  if (!plain()) {
    // Values that are scaled, selected or repeated: the same products of what they are made of.
    folded->cols = done_.empty() ? inputs_ : done_.back()->outputs();
    folded->column.clear();
    folded->value.clear();
    folded->row_begin = {0};
    std::vector<std::pair<Index, double>> row;
    for (Index r = 0; r < weights.rows; ++r) {
      row.clear();
      for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e) {
        const Index c = weights.column[e];
        row.emplace_back(source_[c], weights.value[e] * scale_of(c));
        bias[r] += weights.value[e] * shift_of(c);
      }
      std::ranges::stable_sort(row, {}, &std::pair<Index, double>::first);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (i > 0 && row[i].first == row[i - 1].first) {
          folded->value.back() += row[i].second;
        } else {
          folded->column.push_back(row[i].first);
          folded->value.push_back(row[i].second);
        }
      }
      folded->end_row();
    }
  }
  result.open_ = std::move(folded);
  result.bias_ = std::move(bias);
  result.source_ = counted(weights.rows);
  result.scale_.clear();
  result.shift_.clear();
  return result;
}

Flow Flow::closed(ActivationFunction activation) const {
  if (open_ == nullptr) return multiplied(identity(width())).closed(activation);
  auto layer = std::make_shared<Layer>();
  layer->activation = activation;
  layer->weights.rows = width();
  layer->weights.cols = open_->cols;
  for (std::size_t i = 0; i < source_.size(); ++i) {
    const std::size_t r = source_[i];
    for (Offset e = open_->row_begin[r]; e < open_->row_begin[r + 1]; ++e) {
      layer->weights.column.push_back(open_->column[e]);
      layer->weights.value.push_back(rounded(open_->value[e] * scale_of(i), "weight"));
    }
    layer->weights.row_begin.push_back(std::ssize(layer->weights.column));
    layer->bias.push_back(rounded(bias_[r] * scale_of(i) + shift_of(i), "bias"));
  }
  Flow result = *this;
  result.done_.push_back(std::move(layer));
  result.open_ = nullptr;
  result.bias_.clear();
  result.source_ = counted(width());
  result.scale_.clear();
  result.shift_.clear();
  return result;
}

Flow Flow::activated(ActivationFunction activation) const {
  if (activation.is(Activation::identity)) return *this;
  // relu and its cap after relu: one function.
  if (open_ == nullptr && !done_.empty() && plain() && activation.is(Activation::relu) &&
      done_.back()->activation.is(Activation::relu)) {
    Flow result = *this;
    auto layer = std::make_shared<Layer>(*done_.back());
    layer->activation.cap = std::min(layer->activation.cap, activation.cap);
    result.done_.back() = std::move(layer);
    return result;
  }
  return closed(activation);
}

Flow Flow::clipped(double least, double most) const {
  const bool below = std::isfinite(least), above = std::isfinite(most);
  if (std::isnan(least) || std::isnan(most) || most < least) fail("values from {} to {}", least, most);
  if (!below && !above) return *this;
  // Values behind a relu are not below zero. Others: min(x, most) is most − max(most − x, 0).
  if (!below && most > 0 && open_ == nullptr && plain() && !done_.empty() &&
      done_.back()->activation.is(Activation::relu))
    return clipped(0, most);
  if (!below) return scaled({-1}, {most}).activated(Activation::relu).scaled({-1}, {most});
  const ActivationFunction relu{Activation::relu, above ? rounded(most - least, "cap") : kNoCap};
  if (least == 0) return activated(relu);
  return scaled({}, {-least}).activated(relu).scaled({}, {least});
}

Flow Flow::selected(const std::vector<Index>& from) const {
  Flow result = *this;
  result.source_.clear();
  result.scale_.clear();
  result.shift_.clear();
  for (const Index i : from) {
    if (i < 0 || i >= width()) fail("value {} of {}", i, width());
    result.source_.push_back(source_[i]);
    if (!scale_.empty()) result.scale_.push_back(scale_[i]);
    if (!shift_.empty()) result.shift_.push_back(shift_[i]);
  }
  return result;
}

bool Flow::is_one_minus(const Flow& other) const {
  if (width() != 1 || other.width() != 1) return false;
  return done_ == other.done_ && open_ == other.open_ && source_ == other.source_ &&
         scale_of(0) == -other.scale_of(0) && shift_of(0) == 1 - other.shift_of(0);
}

bool Flow::same(const Flow& other) const {
  const auto equal_layers = [](const LayerPointer& a, const LayerPointer& b) { return a == b || *a == *b; };
  return open_ == other.open_ && bias_ == other.bias_ && source_ == other.source_ && scale_ == other.scale_ &&
         shift_ == other.shift_ && scaling_ == other.scaling_ &&
         std::ranges::equal(done_, other.done_, equal_layers);
}

Network Flow::network(const std::string& name, NetworkFacts facts) const {
  const Flow end = open_ != nullptr || !plain() || done_.empty() ? closed(Activation::identity) : *this;
  facts.scaling = end.scaling_;
  for (const LayerPointer& layer : end.done_) validate(*layer, name);
  Network::Parts parts;
  parts.facts = std::move(facts);
  return Network(parts.with(end.done_, name));
}

}  // namespace filigree::internal
