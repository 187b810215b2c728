// SPDX-License-Identifier: Apache-2.0
// Scalings by hand.
#include "data/dataset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace filigree::internal {
namespace {

using Indices = std::vector<Index>;
using Floats = std::vector<float>;
using Bytes = std::vector<std::uint8_t>;

Indices first_rows(Index count) {
  Indices rows(count);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

DataRows floats_of(Index features, const Floats& values) {
  DataRows data;
  data.rows = static_cast<Index>(values.size()) / features;
  data.features = features;
  data.floats = Buffer<float>(values.size());
  std::ranges::copy(values, data.floats.begin());
  return data;
}

TEST(Standardisation, OfBytesIsOneMeanAndScaleForAllPixels) {
  DataRows data;
  data.rows = 3;
  data.features = 2;
  data.bytes = Buffer<std::uint8_t>(6);
  std::ranges::copy(Bytes{1, 3, 200, 100, 5, 7}, data.bytes.begin());
  const Indices rows = {0, 2};  // 1 3 5 7: mean 4, variance (9 + 1 + 1 + 9) / 4 = 5
  EXPECT_EQ(input_scaling(Scaling::standard, data, rows),
            (InputScaling{{4}, {static_cast<float>(1 / std::sqrt(5.0))}}));
}

TEST(Standardisation, OfFloatsIsPerColumn) {
  // Columns 1 3 and 10 30 over rows 0 and 2: means 2 and 20, standard deviations 1 and 10.
  const DataRows data = floats_of(2, {1, 10, 1000, -1000, 3, 30});
  const Indices rows = {0, 2};
  EXPECT_EQ(input_scaling(Scaling::standard, data, rows), (InputScaling{{2, 20}, {1, 0.1F}}));
}

TEST(Standardisation, AConstantHasScaleOne) {
  Floats values;
  for (int i = 0; i < 1000; ++i) values.insert(values.end(), {0.1F, i % 2 == 0 ? 4.0F : 8.0F, 3e38F});
  EXPECT_EQ(input_scaling(Scaling::standard, floats_of(3, values), first_rows(1000)),
            (InputScaling{{0.1F, 6, 3e38F}, {1, 0.5F, 1}}));
  const float least = std::numeric_limits<float>::denorm_min();  // its scale would be infinite
  EXPECT_EQ(input_scaling(Scaling::standard, floats_of(1, {0, least}), first_rows(2)).scale, Floats{1});
  DataRows grey;
  grey.rows = 7;
  grey.features = 1;
  grey.bytes = Buffer<std::uint8_t>(7);
  std::ranges::fill(grey.bytes, std::uint8_t{77});
  EXPECT_EQ(input_scaling(Scaling::standard, grey, first_rows(7)), (InputScaling{{77}, {1}}));
}

TEST(Standardisation, LosesNoDigitsFarFromZero) {
  // 1e6 + 0 … 9: the squares in float, or a difference of squares, would drown the variance of 8.25.
  Floats values;
  for (int i = 0; i < 100000; ++i) values.push_back(1e6F + static_cast<float>(i % 10));
  const InputScaling scaling = input_scaling(Scaling::standard, floats_of(1, values), first_rows(100000));
  EXPECT_EQ(scaling.mean, Floats{1000004.5F});
  EXPECT_FLOAT_EQ(scaling.scale[0], static_cast<float>(1 / std::sqrt(8.25)));
}

TEST(Standardisation, LeavesSparseRowsAndNoRowsAlone) {
  DataRows sparse;
  sparse.rows = 1;
  sparse.features = 3;
  sparse.row_begin = {0, 1};
  sparse.column = buffer_of(std::vector<Index>{1});
  sparse.value = buffer_of(std::vector<float>{5});
  EXPECT_EQ(input_scaling(Scaling::standard, sparse, first_rows(1)), InputScaling{});
  EXPECT_EQ(input_scaling(Scaling::standard, floats_of(1, {1, 2}), {}), InputScaling{});
}

TEST(UnitScaling, KeepsZerosAndMakesTheLargestMagnitudeOne) {
  const DataRows data = floats_of(3, {1, 0, 0, 1000, -1000, 7, -4, 0.5F, 0});
  const Indices rows = {0, 2};  // columns 1 -4, 0 0.5 and nothing but zeros
  EXPECT_EQ(input_scaling(Scaling::unit, data, rows), (InputScaling{{0, 0, 0}, {0.25F, 2, 1}}));
  EXPECT_EQ(input_scaling(Scaling::none, data, rows), InputScaling{});
  DataRows bytes;
  bytes.rows = 1;
  bytes.features = 1;
  bytes.bytes = Buffer<std::uint8_t>(1);
  bytes.bytes[0] = 100;  // every byte is part of 255, whatever the rows hold
  EXPECT_EQ(input_scaling(Scaling::unit, bytes, first_rows(1)), (InputScaling{{0}, {1.0F / 255}}));
}

}  // namespace
}  // namespace filigree::internal
