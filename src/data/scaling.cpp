// SPDX-License-Identifier: Apache-2.0
// What inputs are moved and multiplied by before the first layer.
#include <algorithm>
#include <array>
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

InputScaling of_bytes(const DataRows& data, std::span<const Index> rows) {
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

InputScaling of_floats(const DataRows& data, std::span<const Index> rows) {
  const std::size_t features = data.features;
  const auto row_data = [&](Index row) { return data.floats.data() + row * features; };
  // Differences to the first row are summed up: a constant column's mean is then exactly its value.
  const float* const first = row_data(rows.front());
  std::vector<double> mean(features), variance(features);
  for (const Index row : rows) {
    const float* const x = row_data(row);
    for (std::size_t c = 0; c < features; ++c) mean[c] += static_cast<double>(x[c]) - first[c];
  }
  const double count = rows.size();
  for (std::size_t c = 0; c < features; ++c) mean[c] = first[c] + mean[c] / count;
  for (const Index row : rows) {
    const float* const x = row_data(row);
    for (std::size_t c = 0; c < features; ++c) variance[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
  }
  InputScaling scaling;
  for (std::size_t c = 0; c < features; ++c) {
    scaling.mean.push_back(mean[c]);
    scaling.scale.push_back(scale_of(variance[c] / count));
  }
  return scaling;
}

InputScaling to_unit(const DataRows& data, std::span<const Index> rows) {
  if (!data.bytes.empty()) return {{0}, {1.0F / 255}};
  const std::size_t features = data.features;
  std::vector<float> largest(features);
  for (const Index row : rows)
    for (std::size_t c = 0; c < features; ++c)
      largest[c] = std::max(largest[c], std::fabs(data.floats[row * features + c]));
  InputScaling scaling{std::vector<float>(features), {}};
  for (const float m : largest) scaling.scale.push_back(scale_of(static_cast<double>(m) * m));
  return scaling;
}

}  // namespace

InputScaling input_scaling(Scaling kind, const DataRows& data, std::span<const Index> rows) {
  if (rows.empty() || data.sparse()) return {};
  switch (kind) {
    case Scaling::none:
      return {};
    case Scaling::unit:
      return to_unit(data, rows);
    case Scaling::standard:
      return data.bytes.empty() ? of_floats(data, rows) : of_bytes(data, rows);
  }
  return {};
}

}  // namespace filigree::internal
