// SPDX-License-Identifier: Apache-2.0
// Tests of whole runs on the emulated device, against each row by itself in double.
#include "device/panel_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "device/cuda.h"
#include "device/test_emulated.h"
#include "sparse/test_bounds.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

struct TestLayer {
  CsrMatrix weights;
  std::vector<float> bias;
  float cap = 32;

  // As the device takes it; the arrays are this layer's, or go with `kept`.
  struct Kept {
    std::vector<std::uint32_t> begin;
    std::vector<std::uint16_t> column;
  };
  HostLayer view(Kept& kept) const {
    kept.begin.assign(weights.row_begin.begin(), weights.row_begin.end());
    kept.column.assign(weights.column.begin(), weights.column.end());
    HostLayer layer;
    layer.row_begin = kept.begin;
    layer.column = kept.column;
    layer.bias = bias;
    layer.inputs = weights.cols;
    layer.activation.cap = cap;
    const bool same = std::ranges::all_of(weights.value, [&](float v) { return v == 0.0625f; });
    if (same)
      layer.uniform = 0.0625f;
    else
      layer.value = weights.value;
    return layer;
  }
};

struct TestRows {
  std::vector<Offset> row_begin = {0};
  std::vector<std::uint16_t> column;
  std::vector<float> value;

  SparseInputs view() const { return {row_begin, column, value, {}, {}}; }
  unsigned rows() const { return row_begin.size() - 1; }
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
    result.row_begin.push_back(result.column.size());
  }
  return result;
}

Bounded reference(const std::vector<TestLayer>& layers, const TestRows& rows, std::size_t row) {
  Bounded x(std::vector<double>(layers[0].weights.cols, 0.0));
  for (Offset e = rows.row_begin[row]; e < rows.row_begin[row + 1]; ++e)
    x.value[rows.column[e]] = rows.value.empty() ? 1.0 : double{rows.value[e]};
  for (const TestLayer& layer : layers) {
    x = bounded_product(layer.weights, layer.bias, x);
    for (double& sum : x.value) sum = std::min(std::max(sum, 0.0), double{layer.cap});
  }
  return x;
}

TEST(PanelRun, TakesEveryRowThroughEveryLayer) {
  const std::vector<Index> widths{40, 70, 33, 64, 50};
  const std::vector<TestLayer> layers = exact_network(widths, 11);
  for (const std::size_t rows : {1, 130, 300}) {
    if (!full_tests() && rows == 300) continue;
    const TestRows inputs = some_rows(rows, 40, rows);
    std::vector<std::vector<double>> expected;
    for (std::size_t r = 0; r < rows; ++r) expected.push_back(reference(layers, inputs, r).value);
    for (const unsigned threads : {32u, 128u}) {
      for (const unsigned compact_every : {0u, 1u, 3u}) {
        SCOPED_TRACE(testing::Message() << rows << " rows, blocks of " << threads << ", " << compact_every);
        const auto run = start_panel_run(0, {inputs.rows(), 70, 5000},
                                         {DeviceKernel::fused, threads, compact_every}, inputs.view());
        for (const TestLayer& layer : layers) {
          TestLayer passing = layer;  // gone when the device gets to it
          TestLayer::Kept kept;
          run->run(passing.view(kept));
          std::ranges::fill(kept.column, std::uint16_t{0});
          std::ranges::fill(passing.weights.value, 100.0f);
          std::ranges::fill(passing.bias, 100.0f);
        }
        const std::vector<float> outputs = run->outputs();
        std::vector<unsigned> live;
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t o = 0; o < 50; ++o) ASSERT_EQ(double{outputs[r * 50 + o]}, expected[r][o]) << r;
          if (std::ranges::max(expected[r]) > 0) live.push_back(r);
        }
        EXPECT_EQ(run->live_rows(), live);
        EXPECT_EQ(run->live_counts().back(), live.size());
        if (rows == 300) {
          EXPECT_GT(live.size(), 0u);
          EXPECT_LT(live.size(), 300u);
          EXPECT_EQ(run->rows() < 300, compact_every > 0) << "rows that died are left behind";
        }
      }
    }
  }
}

TEST(PanelRun, TakesAnyWeightsAndValues) {
  const Index width = 37;
  std::vector<TestLayer> layers;
  Random random(5);
  for (std::uint64_t l = 0; l < 3; ++l) {
    TestLayer& layer = layers.emplace_back(TestLayer{random_csr(width, width, 0.4, l), {}, 32});
    for (float& v : layer.weights.value) v *= 0.4f;
    for (Index o = 0; o < width; ++o) layer.bias.push_back(random.uniform(-0.2, 0.3));
  }
  TestRows inputs = some_rows(150, 37, 6);
  for (std::size_t e = 0; e < inputs.column.size(); ++e) inputs.value.push_back(random.uniform(0, 2));
  const auto run = start_panel_run(0, {inputs.rows(), 37, 2000}, {DeviceKernel::fused, 32, 0}, inputs.view());
  for (const TestLayer& layer : layers) {
    TestLayer::Kept kept;
    run->run(layer.view(kept));
  }
  const std::vector<float> outputs = run->outputs();
  for (std::size_t r = 0; r < 150; ++r) {
    const Bounded expected = reference(layers, inputs, r);
    for (std::size_t o = 0; o < 37; ++o)
      ASSERT_NEAR(outputs[r * 37 + o], expected.value[o], expected.error[o]) << r;
  }
}

// The baselines, with the row filter and without.
TEST(BaselineRuns, TakeEveryRowThroughEveryLayer) {
  const std::vector<TestLayer> layers = exact_network({40, 70, 33, 64, 50}, 11);
  for (const std::size_t rows : {1, 130}) {
    TestRows inputs = some_rows(rows, 40, rows);
    std::vector<std::vector<double>> expected;
    std::vector<unsigned> live;
    for (std::size_t r = 0; r < rows; ++r) {
      expected.push_back(reference(layers, inputs, r).value);
      if (std::ranges::max(expected[r]) > 0) live.push_back(r);
    }
    for (const DeviceKernel engine :
         {DeviceKernel::spmm, DeviceKernel::spgemm, DeviceKernel::spgemm_kept, DeviceKernel::tiled}) {
      for (const unsigned filter : {0u, 1u}) {
        SCOPED_TRACE(testing::Message()
                     << rows << " rows, engine " << static_cast<int>(engine) << ", " << filter);
        const DeviceRunOptions options{engine, 0, filter};
        const RunShape shape{inputs.rows(), 70, 5000};
        std::size_t before = 0, after = 0, total = 0;
        cudaMemGetInfo(&before, &total);
        const auto run = cuda_backend()->start(0, shape, options, inputs.view());
        for (const TestLayer& layer : layers) {
          TestLayer::Kept kept;
          run->run(layer.view(kept));
        }
        cudaMemGetInfo(&after, &total);
        EXPECT_LE(before - after, cuda_backend()->run_bytes(shape, options) + 8192);
        if (engine != DeviceKernel::spmm) {
          EXPECT_TRUE(run->merge_equal_rows().row.empty());
        }
        const std::vector<float> outputs = run->outputs();
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t o = 0; o < 50; ++o) ASSERT_EQ(double{outputs[r * 50 + o]}, expected[r][o]) << r;
        EXPECT_EQ(run->live_rows(), live);
        EXPECT_EQ(run->live_counts().size(), 4u);
        EXPECT_EQ(run->live_counts().back(), live.size());
        if (rows == 130) {
          EXPECT_EQ(run->rows() < 130, filter > 0) << "rows that died are left behind";
        }
      }
    }
  }
}

TEST(DeviceRuns, GoOnWhenAllRowsAreDead) {
  std::vector<TestLayer> layers = exact_network({40, 30, 30, 30}, 5);
  for (TestLayer& layer : layers) std::ranges::fill(layer.bias, -100.0f);
  const TestRows inputs = some_rows(20, 40, 1);
  for (const DeviceKernel engine : {DeviceKernel::fused, DeviceKernel::spmm, DeviceKernel::spgemm,
                                    DeviceKernel::spgemm_kept, DeviceKernel::tiled}) {
    for (const unsigned filter : {0u, 1u}) {
      const auto run = cuda_backend()->start(0, {20, 40, 2000}, {engine, 0, filter}, inputs.view());
      for (const TestLayer& layer : layers) {
        TestLayer::Kept kept;
        run->run(layer.view(kept));
      }
      EXPECT_TRUE(run->live_rows().empty());
      EXPECT_EQ(run->live_counts(), std::vector<unsigned>(3, 0));
      EXPECT_EQ(run->outputs(), std::vector<float>(20 * 30, 0.0f));
    }
  }
}

TEST(BaselineRuns, RefuseWhatTheyDoNotCompute) {
  const TestRows inputs = some_rows(3, 10, 1);
  std::vector<Index> input_of(10, 0);
  SparseInputs mapped = inputs.view();
  mapped.input_of = input_of;
  for (const DeviceKernel engine : {DeviceKernel::spgemm, DeviceKernel::tiled})
    EXPECT_NE(error_of([&] {
                cuda_backend()->start(0, {3, 10, 50}, {engine}, mapped);
              }).find("not compiled"),
              std::string::npos);
  const TestLayer layer{random_csr(10, 10, 0.5, 1), std::vector<float>(10, 0.0f)};
  TestLayer::Kept kept;
  HostLayer sigmoid = layer.view(kept);
  sigmoid.activation = Activation::sigmoid;
  const auto run = cuda_backend()->start(0, {3, 10, 50}, {DeviceKernel::tiled}, inputs.view());
  EXPECT_NE(error_of([&] { run->run(sigmoid); }).find("relu"), std::string::npos);
}

TEST(PanelRun, ComputesEqualRowsOnce) {
  const std::vector<TestLayer> layers = exact_network({40, 64, 64, 64, 50}, 3);
  const TestRows some = some_rows(60, 40, 8);
  TestRows inputs;  // each row several times, and rows that become alike
  std::vector<std::size_t> source;
  for (std::size_t r = 0; r < 200; ++r) {
    source.push_back(r * 7 % 60);
    for (auto e = some.row_begin[source.back()]; e < some.row_begin[source.back() + 1]; ++e)
      inputs.column.push_back(some.column[e]);
    inputs.row_begin.push_back(inputs.column.size());
  }
  for (const unsigned compact_every : {0u, 2u}) {
    const auto run =
        start_panel_run(0, {200, 64, 4096},
                        {DeviceKernel::fused, compact_every == 0 ? 32u : 128u, compact_every}, inputs.view());
    std::vector<unsigned> stands(200);
    std::iota(stands.begin(), stands.end(), 0u);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      TestLayer::Kept kept;
      run->run(layers[l].view(kept));
      if (l == 0) {
        EXPECT_EQ(run->rows(), 200u);
      } else {
        EXPECT_LE(run->rows(), 60u) << "layer " << l;
      }
      if (l > 1) continue;
      const DeviceRun::Absorbed absorbed = run->merge_equal_rows();
      ASSERT_EQ(absorbed.row.size(), absorbed.by.size());
      if (l == 0) {
        EXPECT_GE(absorbed.row.size(), 140u);
      }
      for (std::size_t i = 0; i < absorbed.row.size(); ++i) stands[absorbed.row[i]] = absorbed.by[i];
    }
    std::vector<unsigned> live = run->live_rows(), expected, all;
    unsigned alive = 0;
    for (unsigned r = 0; r < 200; ++r) {
      unsigned by = r;
      while (stands[by] != by) by = stands[by];
      if (std::ranges::binary_search(live, by)) all.push_back(r);
      if (std::ranges::max(reference(layers, inputs, r).value) > 0) expected.push_back(r), ++alive;
    }
    EXPECT_EQ(all, expected);
    EXPECT_EQ(run->live_counts().back(), alive);
  }
}

TEST(PanelRun, AddsColumnsUpAndTakesSomeRows) {
  const std::vector<TestLayer> layers = exact_network({20, 50}, 4);
  const TestRows inputs = some_rows(50, 40, 9);
  std::vector<Index> input_of(40);
  for (Index c = 0; c < 40; ++c) input_of[c] = c % 5 == 0 ? -1 : c / 2;
  const std::vector<Index> rows{3, 4, 11, 49};
  SparseInputs view = inputs.view();
  view.input_of = input_of;
  view.row = rows;
  TestRows summed;
  for (const Index row : rows) {
    std::vector<float> x(20, 0.0f);
    for (std::size_t e = inputs.row_begin[row]; e < static_cast<std::size_t>(inputs.row_begin[row + 1]); ++e)
      if (const Index to = input_of[inputs.column[e]]; to >= 0) x[to] += 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      summed.column.push_back(static_cast<std::uint16_t>(i));
      summed.value.push_back(x[i]);
    }
    summed.row_begin.push_back(summed.column.size());
  }
  const auto run = start_panel_run(0, {4, 50, 1000}, {DeviceKernel::fused, 128, 0}, view);
  TestLayer::Kept kept;
  run->run(layers[0].view(kept));
  const std::vector<float> outputs = run->outputs();
  for (std::size_t r = 0; r < 4; ++r) {
    const std::vector<double> expected = reference(layers, summed, r).value;
    for (std::size_t o = 0; o < 50; ++o) ASSERT_EQ(double{outputs[r * 50 + o]}, expected[o]);
  }
}

TEST(PanelRun, RefusesWhatDoesNotFit) {
  const TestRows inputs = some_rows(3, 10, 1);
  const RunShape shape{3, 10, 50};
  EXPECT_NE(error_of([&] {
              start_panel_run(0, shape, {DeviceKernel::fused, 64, 0}, inputs.view());
            }).find("64 threads"),
            std::string::npos);
  const auto run = start_panel_run(0, shape, {DeviceKernel::fused, 32, 0}, inputs.view());
  const TestLayer wide{random_csr(12, 10, 0.5, 1), std::vector<float>(12, 0.0f)};
  TestLayer::Kept kept;
  EXPECT_NE(error_of([&] { run->run(wide.view(kept)); }).find("10 to 12"), std::string::npos);
}

// What it says it takes is what it takes.
TEST(PanelRun, KnowsItsMemory) {
  const TestRows inputs = some_rows(300, 10, 1);
  for (const unsigned threads : {32u, 128u}) {
    const DeviceRunOptions options{DeviceKernel::fused, threads, 4};
    const RunShape shape{300, 10, 50};
    std::size_t before = 0, after = 0, total = 0;
    cudaMemGetInfo(&before, &total);
    const auto run = start_panel_run(0, shape, options, inputs.view());
    cudaMemGetInfo(&after, &total);
    EXPECT_LE(before - after, panel_run_bytes(shape, options));
    EXPECT_GT(before - after, panel_run_bytes(shape, options) * 9 / 10);
  }
}

}  // namespace
}  // namespace filigree::internal
