// Tests of whole runs on the emulated device, against each row by itself in double.
#include "device/device_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "device/cuda.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree {
namespace {

struct TestLayer {
  CsrMatrix weights;
  std::vector<float> bias;
  float cap = 32;
};

struct TestRows {
  std::vector<Offset> row_begin = {0};
  std::vector<std::uint16_t> column;
  std::vector<float> value;

  SparseInputs view() const { return {row_begin, column, value}; }
};

// Weights of 1/16 and biases of sixteenths: four layers are exact in float, whatever the order.
std::vector<TestLayer> exact_network(const std::vector<Index>& widths, std::uint64_t seed) {
  std::vector<TestLayer> layers;
  Random random(seed);
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    TestLayer& layer =
        layers.emplace_back(TestLayer{random_csr(widths[l + 1], widths[l], 0.3, seed + l), {}, 2});
    std::ranges::fill(layer.weights.value, 0.0625f);
    for (Index o = 0; o < widths[l + 1]; ++o)
      layer.bias.push_back(-static_cast<float>(random.below(3)) / 16);  // a row of zeros stays one
  }
  return layers;
}

TestRows some_rows(std::size_t rows, std::size_t features, std::uint64_t seed) {
  TestRows result;
  Random random(seed);
  for (std::size_t r = 0; r < rows; ++r) {
    const double share = r % 3 == 0 ? 0.02 : 0.5;  // some die soon
    for (std::size_t f = 0; f < features; ++f)
      if (random.uniform() < share) result.column.push_back(static_cast<std::uint16_t>(f));
    result.row_begin.push_back(static_cast<Offset>(result.column.size()));
  }
  return result;
}

std::vector<double> reference(const std::vector<TestLayer>& layers, const TestRows& rows, std::size_t row) {
  std::vector<double> x(static_cast<std::size_t>(layers[0].weights.cols), 0.0);
  for (auto e = static_cast<std::size_t>(rows.row_begin[row]);
       e < static_cast<std::size_t>(rows.row_begin[row + 1]); ++e)
    x[rows.column[e]] = rows.value.empty() ? 1.0 : double{rows.value[e]};
  for (const TestLayer& layer : layers) {
    std::vector<double> y(layer.bias.begin(), layer.bias.end());
    for (Index o = 0; o < layer.weights.rows; ++o) {
      const auto columns = layer.weights.view().row_columns(o);
      const auto values = layer.weights.view().row_values(o);
      double& sum = y[static_cast<std::size_t>(o)];
      for (std::size_t e = 0; e < columns.size(); ++e)
        sum += double{values[e]} * x[static_cast<std::size_t>(columns[e])];
      sum = std::min(std::max(sum, 0.0), double{layer.cap});
    }
    x = std::move(y);
  }
  return x;
}

TEST(DeviceRun, TakesEveryRowThroughEveryLayer) {
  const std::vector<Index> widths{40, 70, 33, 64, 50};
  const std::vector<TestLayer> layers = exact_network(widths, 11);
  for (const std::size_t rows : {1, 130, 300}) {
    const TestRows inputs = some_rows(rows, 40, rows);
    std::vector<std::vector<double>> expected;
    for (std::size_t r = 0; r < rows; ++r) expected.push_back(reference(layers, inputs, r));
    for (const unsigned threads : {32u, 128u}) {
      for (const unsigned compact_every : {0u, 1u, 3u}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, blocks of " << threads << ", " << compact_every);
        DeviceRun run(inputs.view(), 40, 70, {threads, compact_every});
        for (const TestLayer& layer : layers) {
          TestLayer passing = layer;  // gone when the device gets to it
          run.run({passing.weights.view(), passing.bias, passing.cap});
          std::ranges::fill(passing.weights.value, 100.0f);
          std::ranges::fill(passing.bias, 100.0f);
        }
        const std::vector<float> outputs = run.outputs();
        std::vector<unsigned> live;
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t o = 0; o < 50; ++o) ASSERT_EQ(double{outputs[r * 50 + o]}, expected[r][o]) << r;
          if (std::ranges::max(expected[r]) > 0) live.push_back(static_cast<unsigned>(r));
        }
        EXPECT_EQ(run.live_rows(), live);
        if (rows == 300) {
          EXPECT_GT(live.size(), 0u);
          EXPECT_LT(live.size(), 300u);
          EXPECT_EQ(run.rows_left() < 300, compact_every > 0) << "rows that died are left behind";
        }
      }
    }
  }
}

TEST(DeviceRun, TakesAnyWeightsAndValues) {
  const Index width = 37;
  std::vector<TestLayer> layers;
  Random random(5);
  for (std::uint64_t l = 0; l < 3; ++l) {
    TestLayer& layer = layers.emplace_back(TestLayer{random_csr(width, width, 0.4, l), {}, 32});
    for (float& v : layer.weights.value) v *= 0.4f;
    for (Index o = 0; o < width; ++o) layer.bias.push_back(static_cast<float>(random.uniform(-0.2, 0.3)));
  }
  TestRows inputs = some_rows(150, 37, 6);
  for (std::size_t e = 0; e < inputs.column.size(); ++e)
    inputs.value.push_back(static_cast<float>(random.uniform(0, 2)));
  DeviceRun run(inputs.view(), 37, 37, {32, 0});
  for (const TestLayer& layer : layers) run.run({layer.weights.view(), layer.bias, layer.cap});
  const std::vector<float> outputs = run.outputs();
  for (std::size_t r = 0; r < 150; ++r) {
    const std::vector<double> expected = reference(layers, inputs, r);
    for (std::size_t o = 0; o < 37; ++o) ASSERT_NEAR(outputs[r * 37 + o], expected[o], 1e-4) << r;
  }
}

TEST(DeviceRun, RefusesWhatDoesNotFit) {
  const TestRows inputs = some_rows(3, 10, 1);
  EXPECT_NE(error_of([&] {
              DeviceRun(inputs.view(), 10, 10, {64, 0});
            }).find("64 threads"),
            std::string::npos);
  DeviceRun run(inputs.view(), 10, 10, {32, 0});
  const std::vector<float> bias(12, 0.0f);
  const CsrMatrix wide = random_csr(12, 10, 0.5, 1);
  EXPECT_NE(error_of([&] { run.run({wide.view(), bias, 1}); }).find("10 to 12"), std::string::npos);
  EXPECT_EQ(device_run_bytes(1024, 60000, {128, 0}), (2u * 1024 * 4 + 16) * 60416);
}

}  // namespace
}  // namespace filigree
