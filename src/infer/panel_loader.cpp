// SPDX-License-Identifier: Apache-2.0
#include "infer/panel_loader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/buffer.h"
#include "base/error.h"
#include "kernels/packed.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

constexpr auto kRowsInOrder = [] {
  std::array<Index, kLanes> rows{};
  for (std::size_t b = 0; b < kLanes; ++b) rows[b] = b;
  return rows;
}();

void check_finite(std::span<const std::uint8_t>, std::size_t) {}

// One pass over the rows that are about to be loaded, in integers, which compilers vectorise: 784 floats of
// 32 rows take 2 µs, and load_panel then finds them in the cache.
void check_finite(std::span<const float> row, std::size_t number) {
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t odd = 0;
  for (const float v : row) odd |= (std::bit_cast<std::uint32_t>(v) & kExponent) == kExponent ? 1u : 0u;
  if (odd == 0) return;
  const auto at = std::ranges::find_if(row, [](float v) { return !std::isfinite(v); });
  fail("input {} of row {} is {}", at - row.begin(), number, *at);
}

// Adds up the rows of a panel of columns into a panel of inputs.
void map_panel(const InputMap& map, const float* columns, float* x) {
  for (std::size_t n = 0; n < map.inputs(); ++n) {
    float* to = x + n * kLanes;
    const std::span<const Index> own = map.columns_of(n);
    if (own.empty()) {
      std::fill_n(to, kLanes, 0.0f);
      continue;
    }
    std::copy_n(columns + own[0] * kLanes, kLanes, to);
    for (const Index c : own.subspan(1)) {
      const float* from = columns + c * kLanes;
      for (std::size_t b = 0; b < kLanes; ++b) to[b] += from[b];
    }
  }
}

// Never empty: a kernel may step through the lanes of a panel without neurons.
std::size_t panel_size(const InputMap& map) {
  return std::max<std::size_t>(1, map.inputs()) * kLanes;
}

template <typename T>
class DenseLoader final : public PanelLoader {
 public:
  DenseLoader(std::span<const T> data, std::size_t stride, const InputScaling& scaling, const InputMap& map)
      : data_(data), stride_(stride), scaling_(scaling), map_(map), x_(panel_size(map)) {
    if (map.adds_up()) columns_ = Buffer<float>(map.columns() * kLanes);
    if (!map.identity() && !map.adds_up()) places_ = map.all();
  }
  const float* load(std::size_t first, std::size_t count) override {
    for (std::size_t r = first; r < first + count; ++r) check_finite(row_of(r), r);
    const auto rows = data_.subspan(first * stride_, (count - 1) * stride_ + map_.columns());
    load_panel(rows, map_.columns(), std::span<const Index>(kRowsInOrder).first(count), scaling_, kLanes,
               map_.adds_up() ? columns_.data() : x_.data(), places_, stride_);
    if (map_.adds_up()) map_panel(map_, columns_.data(), x_.data());
    return x_.data();
  }
  void load_row(std::size_t row, float* x) override {
    const std::size_t width = map_.columns();
    const std::span<const T> from = row_of(row);
    check_finite(from, row);
    const std::size_t mean_step = scaling_.mean.size() > 1 ? 1 : 0,
                      scale_step = scaling_.scale.size() > 1 ? 1 : 0;
    const float zero = 0, one = 1;
    const float* const mean = scaling_.mean.empty() ? &zero : scaling_.mean.data();
    const float* const scale = scaling_.scale.empty() ? &one : scaling_.scale.data();
    const auto scaled = [&](std::size_t c) {
      return (static_cast<float>(from[c]) - mean[c * mean_step]) * scale[c * scale_step];
    };
    if (map_.identity()) {
      for (std::size_t c = 0; c < width; ++c) x[c] = scaled(c);
    } else {
      for (std::size_t n = 0; n < map_.inputs(); ++n) {
        const std::span<const Index> own = map_.columns_of(n);
        x[n] = own.empty() ? 0.0f : scaled(static_cast<std::size_t>(own[0]));
        for (const Index c : own.subspan(std::min<std::size_t>(1, own.size())))
          x[n] += scaled(static_cast<std::size_t>(c));
      }
    }
  }

 private:
  std::span<const T> row_of(std::size_t row) const { return data_.subspan(row * stride_, map_.columns()); }

  std::span<const T> data_;
  std::size_t stride_;
  const InputScaling& scaling_;
  const InputMap& map_;
  Places places_ = {};
  Buffer<float> x_, columns_;
};

// The panel stays zero but for the entries of the rows in it, which are taken back before the next ones: a
// panel may be a thousand times as large as what the rows hold.
class SparseLoader final : public PanelLoader {
 public:
  SparseLoader(const SparseRowsView& rows, const InputMap& map)
      : rows_(rows), map_(map), x_(panel_size(map)) {
    x_.zero();
  }
  const float* load(std::size_t first, std::size_t count) override {
    for_each_entry(first_, count_, [](float& x, float) { x = 0; });
    for_each_entry(first, count, [](float& x, float value) { x += value; });
    first_ = first;
    count_ = count;
    return x_.data();
  }
  void load_row(std::size_t row, float* x) override {
    std::fill_n(x, map_.inputs(), 0.0f);
    for (std::size_t e = rows_.row_begin[row]; e < static_cast<std::size_t>(rows_.row_begin[row + 1]); ++e) {
      const Index to = map_.input_of(rows_.column[e]);
      if (to >= 0) x[to] += rows_.value[e];
    }
  }

 private:
  template <typename Visit>
  void for_each_entry(std::size_t first, std::size_t count, const Visit& visit) {
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::size_t end = rows_.row_begin[first + lane + 1];
      for (std::size_t e = rows_.row_begin[first + lane]; e < end; ++e) {
        const Index to = map_.input_of(rows_.column[e]);
        if (to >= 0) visit(x_[to * kLanes + lane], rows_.value[e]);
      }
    }
  }
  SparseRowsView rows_;
  const InputMap& map_;
  Buffer<float> x_;
  std::size_t first_ = 0, count_ = 0;
};

// Scaling leaves no zeros: the rows are written out and loaded as dense ones.
class ScaledSparseLoader final : public PanelLoader {
 public:
  ScaledSparseLoader(const SparseRowsView& rows, const InputScaling& scaling, const InputMap& map)
      : rows_(rows),
        width_(map.columns()),
        dense_(width_ * kLanes),
        loader_(std::span<const float>(dense_), width_, scaling, map) {}
  const float* load(std::size_t first, std::size_t count) override {
    dense_.zero();
    for (std::size_t lane = 0; lane < count; ++lane) {
      const std::size_t end = rows_.row_begin[first + lane + 1];
      for (std::size_t e = rows_.row_begin[first + lane]; e < end; ++e)
        dense_[lane * width_ + rows_.column[e]] += rows_.value[e];
    }
    return loader_.load(0, count);
  }
  void load_row(std::size_t row, float* x) override {
    std::fill_n(dense_.data(), width_, 0.0f);
    for (std::size_t e = rows_.row_begin[row]; e < static_cast<std::size_t>(rows_.row_begin[row + 1]); ++e)
      dense_[rows_.column[e]] += rows_.value[e];
    loader_.load_row(0, x);
  }

 private:
  SparseRowsView rows_;
  std::size_t width_;
  Buffer<float> dense_;
  DenseLoader<float> loader_;
};

template <typename T>
MakeLoader make_dense(std::span<const T> data, std::size_t stride, const InputScaling& scaling,
                      const InputMap& map) {
  if (stride == 0) stride = map.columns();
  return
      [data, stride, &scaling, &map] { return std::make_unique<DenseLoader<T>>(data, stride, scaling, map); };
}

}  // namespace

InputMap::InputMap(std::vector<Index> input_of, Index inputs)
    : input_of_(std::move(input_of)), inputs_(static_cast<std::size_t>(inputs)), begin_(inputs_ + 1, 0) {
  identity_ = inputs_ == input_of_.size();
  for (std::size_t c = 0; c < input_of_.size(); ++c) {
    identity_ = identity_ && input_of_[c] == static_cast<Index>(c);
    if (input_of_[c] >= 0) ++begin_[input_of_[c] + 1];
  }
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  column_.resize(begin_.back());
  std::vector<std::size_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t c = 0; c < input_of_.size(); ++c)
    if (input_of_[c] >= 0) column_[next[input_of_[c]]++] = c;
  for (std::size_t n = 0; n < inputs_; ++n) adds_up_ = adds_up_ || columns_of(n).size() != 1;
}

MakeLoader dense_loader(std::span<const std::uint8_t> data, const InputScaling& scaling, const InputMap& map,
                        std::size_t stride) {
  return make_dense(data, stride, scaling, map);
}
MakeLoader dense_loader(std::span<const float> data, const InputScaling& scaling, const InputMap& map,
                        std::size_t stride) {
  return make_dense(data, stride, scaling, map);
}

MakeLoader rows_loader(const Rows& rows, const InputScaling& scaling, const InputMap& map) {
  if (rows.sparse()) return sparse_loader({rows.row_begin(), rows.column(), rows.value()}, scaling, map);
  if (!rows.bytes().empty()) return make_dense(rows.bytes(), rows.stride(), scaling, map);
  return make_dense(rows.floats(), rows.stride(), scaling, map);
}

MakeLoader sparse_loader(const SparseRowsView& rows, const InputScaling& scaling, const InputMap& map) {
  if (scaling.none()) return [rows, &map] { return std::make_unique<SparseLoader>(rows, map); };
  return [rows, &scaling, &map] { return std::make_unique<ScaledSparseLoader>(rows, scaling, map); };
}

}  // namespace filigree::internal
