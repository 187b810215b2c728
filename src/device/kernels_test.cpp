// SPDX-License-Identifier: Apache-2.0
// Tests of the device's kernels, emulated, against plain loops in double.
#include <gtest/gtest.h>

#include <rapidcheck.h>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "device/entry_kernels.h"
#include "device/layer_kernel.h"
#include "device/row_kernels.h"
#include "device/test_emulated.h"
#include "device/test_stream.h"
#include "device/tiled_kernel.h"
#include "filigree/sparse.h"
#include "sparse/test_bounds.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

struct LayerCase {
  CsrMatrix weights;
  std::vector<float> bias;
  bool uniform = false;
  float cap = 32;
};

template <unsigned kThreads>
void check_layer(const LayerCase& layer, unsigned rows, std::uint64_t seed) {
  const TestStream s;
  constexpr unsigned kTogether = ManyRows<kThreads>::kTogether;
  const std::size_t stride = (rows + kTogether - 1) / kTogether * kTogether;
  const std::size_t inputs = layer.weights.cols;
  const std::size_t outputs = layer.weights.rows;
  std::vector<float> x(inputs * stride, 0.0f);
  Random random(seed);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % stride < rows && random.uniform() < 0.5) x[i] = random.uniform(0, 2);

  std::vector<unsigned> begin(layer.weights.row_begin.begin(), layer.weights.row_begin.end());
  const std::vector<std::uint16_t> input(layer.weights.column.begin(), layer.weights.column.end());
  const auto begin_d = on_device(begin, s.stream);
  const auto input_d = on_device(input, s.stream);
  const auto value_d = on_device(layer.weights.value, s.stream);
  const auto bias_d = on_device(layer.bias, s.stream);
  const auto x_d = on_device(x, s.stream);
  DeviceArray<float> y_d(outputs * stride);
  DeviceArray<unsigned> live_d(rows);
  live_d.set_zero(s.stream);
  const float uniform = layer.uniform ? layer.weights.value[0] : 0.0f;
  const DeviceLayer on{{begin_d.data(), input_d.data(), static_cast<unsigned>(outputs)},
                       layer.uniform ? nullptr : value_d.data(),
                       {bias_d.data(), layer.uniform ? uniform : 1.0f, {Activation::relu, layer.cap}}};
  run_layer<kThreads>(on, x_d.data(), y_d.data(), rows, stride, live_d.data(), s.stream);
  const std::vector<float> y = on_host(y_d, s.stream);
  const std::vector<unsigned> live = on_host(live_d, s.stream);

  for (std::size_t r = 0; r < rows; ++r) {
    bool lives = false;
    for (std::size_t o = 0; o < outputs; ++o) {
      double sum = double{layer.bias[o]}, magnitude = std::fabs(sum);
      for (std::size_t e = layer.weights.row_begin[o];
           e < static_cast<std::size_t>(layer.weights.row_begin[o + 1]); ++e) {
        const double product =
            double{layer.weights.value[e]} * double{x[layer.weights.column[e] * stride + r]};
        sum += product;
        magnitude += std::fabs(product);
      }
      const double expected = std::min(std::max(sum, 0.0), double{layer.cap});
      // One rounding a product, one an addition.
      const double slack = 1.2e-7 * magnitude * (2 * layer.weights.cols + 2);
      ASSERT_NEAR(y[o * stride + r], expected, slack) << "output " << o << " of row " << r;
      lives = lives || y[o * stride + r] > 0;
    }
    ASSERT_EQ(live[r], static_cast<unsigned>(lives)) << "row " << r;
  }
}

TEST(LayerKernel, AgreesWithPlainLoops) {
  for (const bool uniform : {false, true}) {
    for (const auto& [outputs, inputs, density] : {std::tuple<Index, Index, double>{1, 1, 1.0},
                                                   {33, 40, 0.3},
                                                   {64, 17, 0.05},
                                                   {5, 300, 0.9},
                                                   {100, 64, 0.0}}) {
      LayerCase layer{random_csr(outputs, inputs, density, 3), {}, uniform};
      if (uniform) {
        if (layer.weights.nnz() == 0) continue;
        std::ranges::fill(layer.weights.value, 0.0625f);
      }
      Random random(4);
      for (Index o = 0; o < outputs; ++o) layer.bias.push_back(random.uniform(-0.5, 0.3));
      layer.cap = uniform ? 0.5f : 32.0f;
      for (const unsigned rows : {1u, 31u, 128u, 130u, 513u}) {
        if (!full_tests() && rows != 31 && rows != 130) continue;
        check_layer<32>(layer, rows, rows);
        check_layer<128>(layer, rows, rows + 1);
      }
    }
  }
}

TEST(LayerKernel, TakesOutputsWithoutConnectionsAnywhere) {
  // Outputs 0, 2, 3 and the last have none; more connections than a block stages at a time.
  LayerCase layer{{6, 200, {0}, {}, {}}, std::vector<float>(6, 0.25f)};
  for (const Index fan_in : {0, 150, 0, 0, 200, 0}) {
    for (Index i = 0; i < fan_in; ++i) {
      layer.weights.column.push_back(i);
      layer.weights.value.push_back(0.01f);
    }
    layer.weights.row_begin.push_back(layer.weights.nnz());
  }
  check_layer<32>(layer, 70, 1);
  check_layer<128>(layer, 70, 1);
}

template <unsigned kThreads>
void check_compact(const std::vector<unsigned>& live, unsigned neurons) {
  const TestStream s;
  const auto rows = static_cast<unsigned>(live.size());
  std::vector<float> from(std::size_t{neurons} * rows);
  std::iota(from.begin(), from.end(), 0.0f);
  std::vector<unsigned> number(rows);
  for (unsigned r = 0; r < rows; ++r) number[r] = 7 * r + 3;
  const auto live_d = on_device(live, s.stream);
  const auto from_d = on_device(from, s.stream);
  const auto number_d = on_device(number, s.stream);
  DeviceArray<unsigned> place_d(rows), count_d(1), moved_number_d(rows);
  DeviceArray<float> to_d(from.size());
  to_d.set_zero(s.stream);
  place_live_rows<kThreads>(live_d.data(), rows, place_d.data(), count_d.data(), s.stream);
  move_rows<kThreads>({from_d.data(), rows, number_d.data()}, place_d.data(), rows, neurons,
                      {to_d.data(), rows, moved_number_d.data()}, s.stream);
  const unsigned count = on_host(count_d, s.stream)[0];
  const auto to = on_host(to_d, s.stream);
  const auto moved = on_host(moved_number_d, s.stream);
  unsigned expected = 0;
  for (unsigned r = 0; r < rows; ++r) {
    if (live[r] == 0) continue;
    for (unsigned n = 0; n < neurons; ++n) ASSERT_EQ(to[n * rows + expected], from[n * rows + r]);
    ASSERT_EQ(moved[expected], number[r]);
    ++expected;
  }
  ASSERT_EQ(count, expected);
}

TEST(Compact, MovesLiveRowsTogetherInTheirOrder) {
  Random random(5);
  for (const std::size_t rows : {1, 31, 32, 33, 128, 129, 500}) {
    for (const double share : {0.0, 0.1, 0.7, 1.0}) {
      std::vector<unsigned> live(rows);
      for (unsigned& each : live) each = random.uniform() < share ? 1 : 0;
      check_compact<32>(live, 3);
      check_compact<128>(live, 5);
    }
  }
  check_compact<32>(std::vector<unsigned>(5, 1), 1500);  // more neurons than a grid has blocks for
}

template <unsigned kTile>
void check_tiled(unsigned rows, unsigned inputs, unsigned outputs, std::uint64_t seed) {
  SCOPED_TRACE(testing::Message() << rows << " rows, " << inputs << " to " << outputs << ", tiles of "
                                  << kTile);
  const TestStream s;
  Random random(seed);
  std::vector<float> x(std::size_t{rows} * inputs), w(std::size_t{inputs} * outputs), bias(outputs);
  std::vector<unsigned> count(rows, 0);
  for (unsigned r = 0; r < rows; ++r)
    for (unsigned i = 0; i < inputs; ++i)
      if (r / 9 % 2 == 0 && r % 4 != 1 && random.uniform() < 0.4) {  // some rows are empty, and some tiles
        x[r * inputs + i] = static_cast<float>(random.uniform(0.1, 2));
        ++count[r];
      }
  for (float& v : w) v = static_cast<float>(random.uniform(-0.3, 0.5));
  for (float& b : bias) b = -static_cast<float>(random.uniform(0, 0.3));
  const auto x_d = on_device(x, s.stream), w_d = on_device(w, s.stream), bias_d = on_device(bias, s.stream);
  const auto count_d = on_device(count, s.stream);
  DeviceArray<float> y_d(std::size_t{rows} * outputs);
  DeviceArray<unsigned> next_d(rows);
  run_tiled_layer<kTile>({w_d.data(), bias_d.data(), inputs, outputs, 2.0f}, rows,
                         {x_d.data(), count_d.data()}, {y_d.data(), next_d.data()}, s.stream);
  const auto y = on_host(y_d, s.stream);
  const auto next = on_host(next_d, s.stream);
  for (unsigned r = 0; r < rows; ++r) {
    unsigned expected_count = 0;
    for (unsigned o = 0; o < outputs; ++o) {
      double sum = double{bias[o]}, magnitude = std::abs(sum);
      for (unsigned i = 0; i < inputs; ++i) {
        const double product = double{x[r * inputs + i]} * double{w[i * outputs + o]};
        sum += product;
        magnitude += std::abs(product);
      }
      ASSERT_NEAR(y[r * outputs + o], std::min(std::max(sum, 0.0), 2.0), sum_bound(inputs, magnitude))
          << r << ", " << o;
      expected_count += y[r * outputs + o] > 0;
    }
    ASSERT_EQ(next[r], expected_count) << r;
  }
}

TEST(TiledKernel, AgreesWithPlainLoops) {
  for (const auto& [rows, inputs, outputs] :
       {std::tuple<unsigned, unsigned, unsigned>{1, 1, 1}, {20, 33, 17}, {40, 8, 16}, {3, 70, 5}})
    check_tiled<8>(rows, inputs, outputs, rows);
  check_tiled<32>(50, 40, 35, 1);
}

template <unsigned kThreads>
void check_entries(unsigned rows, unsigned columns, double density) {
  const TestStream s;
  const CsrMatrix m = random_csr(rows, columns, density, rows + columns);
  const std::vector<int> begin(m.row_begin.begin(), m.row_begin.end()),
      column(m.column.begin(), m.column.end());
  std::vector<float> bias(columns, -0.2f);
  const auto begin_d = on_device(begin, s.stream);
  auto column_d = on_device(column, s.stream);
  auto value_d = on_device(m.value, s.stream);
  const auto bias_d = on_device(bias, s.stream);
  DeviceArray<unsigned> kept_d(rows);
  DeviceArray<float> full_d(std::size_t{rows} * columns);
  using Kernels = EntryKernels<kThreads>;
  const DeviceEntryRows entries{begin_d.data(), column_d.data(), value_d.data()};
  Kernels::finish({bias_d.data(), 2, {Activation::relu, 1.5f}}, entries, rows, kept_d.data(), s.stream);
  full_d.set_zero(s.stream);
  Kernels::fill(entries, rows, full_d.data(), columns, s.stream);
  const auto kept = on_host(kept_d, s.stream);
  const auto full = on_host(full_d, s.stream);
  std::vector<unsigned> to{0};
  std::vector<int> left_column;
  std::vector<float> expected(full.size(), 0.0f), left;
  for (std::size_t r = 0; r < rows; ++r) {
    unsigned here = 0;
    for (std::size_t e = begin[r]; e < static_cast<std::size_t>(begin[r + 1]); ++e) {
      const float z = std::min(std::max(2 * m.value[e] - 0.2f, 0.0f), 1.5f);
      expected[r * columns + column[e]] = z;
      if (z == 0) continue;
      ++here;
      left.push_back(z);
      left_column.push_back(column[e]);
    }
    ASSERT_EQ(kept[r], here) << r;
    to.push_back(to.back() + here);
  }
  EXPECT_EQ(full, expected);
  const auto to_d = on_device(to, s.stream);
  DeviceArray<int> moved_column(left.size());
  DeviceArray<float> moved(left.size());
  Kernels::move(entries, rows, to_d.data(), moved_column.data(), moved.data(), s.stream);
  EXPECT_EQ(on_host(moved, s.stream), left);
  EXPECT_EQ(on_host(moved_column, s.stream), left_column);
}

TEST(EntryKernels, AgreeWithPlainLoops) {
  for (const auto& [rows, columns, density] :
       {std::tuple<unsigned, unsigned, double>{1, 1, 1.0}, {33, 40, 0.3}, {300, 17, 0.05}, {5, 300, 0.9}}) {
    check_entries<32>(rows, columns, density);
    check_entries<128>(rows, columns, density);
  }
}

}  // namespace
}  // namespace filigree::internal
