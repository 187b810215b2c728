// SPDX-License-Identifier: Apache-2.0
// What inputs are moved and multiplied by before the first layer.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "data/dataset.h"

namespace filigree::internal {
namespace {

// 1 for a constant, and for what varies so little that a float cannot hold the scale.
float scale_of(double variance) {
  const double scale = 1 / std::sqrt(variance);
  return scale <= std::numeric_limits<float>::max() ? static_cast<float>(scale) : 1.0F;
}

InputScaling of_pixels(const DataRows& data, std::span<const Index> rows) {
  const std::size_t features = data.features;
  std::array<std::uint64_t, 256> times = {};  // counting is exact, so that equal pixels have no variance
  for (const Index row : rows) {
    const std::uint8_t* const pixels = data.bytes.data() + row * features;
    for (std::size_t p = 0; p < features; ++p) ++times[pixels[p]];
  }
  const auto average = [&](auto&& of) {
    double sum = 0;
    for (std::size_t v = 0; v < times.size(); ++v) {
      sum += static_cast<double>(times[v]) * of(static_cast<double>(v));
    }
    return sum / (static_cast<double>(rows.size()) * features);
  };
  const double mean = average([](double v) { return v; });
  const double variance = average([&](double v) { return (v - mean) * (v - mean); });
  return {{static_cast<float>(mean)}, {scale_of(variance)}};
}

// Rows that lie on disk are let go again on the way.
template <typename Row>
void for_rows(const DataRows& data, std::span<const Index> rows, const Row& act) {
  constexpr std::size_t kForgotten = 1 << 14;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    act(static_cast<std::size_t>(rows[i]) * data.features);
    if (i % kForgotten == 0 && i > 0) data.forget(rows[i - kForgotten], rows[i]);
  }
}

template <typename T>
InputScaling of_columns(const DataRows& data, const Buffer<T>& values, std::span<const Index> rows) {
  const std::size_t features = data.features;
  // Differences to the first row are summed up: a constant column's mean is then exactly its value.
  const T* const first = values.data() + static_cast<std::size_t>(rows.front()) * features;
  std::vector<double> mean(features), variance(features);
  for_rows(data, rows, [&](std::size_t at) {
    for (std::size_t c = 0; c < features; ++c) mean[c] += static_cast<double>(values[at + c]) - first[c];
  });
  const double count = rows.size();
  for (std::size_t c = 0; c < features; ++c) mean[c] = first[c] + mean[c] / count;
  for_rows(data, rows, [&](std::size_t at) {
    for (std::size_t c = 0; c < features; ++c) {
      const double difference = values[at + c] - mean[c];
      variance[c] += difference * difference;
    }
  });
  InputScaling scaling;
  for (std::size_t c = 0; c < features; ++c) {
    scaling.mean.push_back(static_cast<float>(mean[c]));
    scaling.scale.push_back(scale_of(variance[c] / count));
  }
  return scaling;
}

template <typename T>
InputScaling to_unit(const DataRows& data, const Buffer<T>& values, std::span<const Index> rows) {
  const std::size_t features = data.features;
  std::vector<float> largest(features);
  for_rows(data, rows, [&](std::size_t at) {
    for (std::size_t c = 0; c < features; ++c)
      largest[c] = std::max(largest[c], std::fabs(static_cast<float>(values[at + c])));
  });
  InputScaling scaling{std::vector<float>(features), {}};
  for (const float m : largest) scaling.scale.push_back(scale_of(static_cast<double>(m) * m));
  return scaling;
}

InputScaling scaling_of(Scaling kind, const DataRows& data, std::span<const Index> rows) {
  const bool unit = kind == Scaling::unit;
  if (data.bytes.empty())
    return unit ? to_unit(data, data.floats, rows) : of_columns(data, data.floats, rows);
  if (!data.pixels) return unit ? to_unit(data, data.bytes, rows) : of_columns(data, data.bytes, rows);
  return unit ? InputScaling{{0}, {1.0F / 255}} : of_pixels(data, rows);
}

// The features of sparse rows that stand in every row.
DataRows without_indicators(const DataRows& data, std::span<const char> indicators) {
  DataRows result;
  result.rows = data.rows;
  result.features = std::ranges::count(indicators, 0);
  result.floats = Buffer<float>(static_cast<std::size_t>(result.rows) * result.features);
  std::size_t at = 0;
  for (std::size_t i = 0; i < data.value.size(); ++i)
    if (indicators[data.column[i]] == 0) result.floats[at++] = data.value[i];
  assert(at == result.floats.size());
  return result;
}

}  // namespace

InputScaling input_scaling(Scaling kind, const DataRows& data, std::span<const Index> rows,
                           std::span<const char> indicators) {
  if (rows.empty() || kind == Scaling::none || (data.sparse() && indicators.empty())) return {};
  // Of sparse rows the features that are to be scaled, as dense ones.
  const DataRows dense = data.sparse() ? without_indicators(data, indicators) : DataRows();
  const DataRows& scaled = data.sparse() ? dense : data;
  InputScaling scaling = scaling_of(kind, scaled, rows);
  if (indicators.empty()) return scaling;
  InputScaling all{std::vector<float>(indicators.size(), 0.0f), std::vector<float>(indicators.size(), 1.0f)};
  for (std::size_t f = 0, at = 0; f < indicators.size(); ++f) {
    const std::size_t from = data.sparse() ? at : f;
    if (indicators[f] != 0) continue;
    all.mean[f] = scaling.mean_of(from);
    all.scale[f] = scaling.scale_of(from);
    ++at;
  }
  return all;
}

}  // namespace filigree::internal
