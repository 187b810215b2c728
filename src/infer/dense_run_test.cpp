// SPDX-License-Identifier: Apache-2.0
// Tests of running every row: bytes, floats and sparse rows against the reference.
#include "infer/dense_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>

#include "base/random.h"
#include "base/test_threads.h"
#include "infer/reference.h"
#include "infer/row_run.h"
#include "kernels/test_support.h"
#include "sparse/test_errors.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// Layers with a bit of everything: each has another activation.
MemoryLayers mixed_network(const std::vector<Index>& widths, std::uint64_t seed) {
  std::vector<Layer> layers;
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    CsrMatrix w = random_csr(widths[l + 1], widths[l], 0.4, seed + l);
    for (float& v : w.value) v *= 0.3f;
    std::vector<float> bias(widths[l + 1]);
    Random random(seed, l);
    for (float& b : bias) b = random.uniform(-0.2, 0.2);
    layers.push_back({std::move(w),
                      std::move(bias),
                      {static_cast<Activation>(l % kActivationNames.size()), kNoCap, -0.25f}});
  }
  return MemoryLayers(std::move(layers));
}

InputMap same_inputs(Index width) {
  std::vector<Index> map(width);
  std::iota(map.begin(), map.end(), 0);
  return {map, width};
}

std::vector<Index> all_of(Index count) {
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<float> run_all(const LayerSource& network, std::size_t rows, const MakeLoader& loader,
                           const Observer& observer = {}) {
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  const Index width = network.outputs();
  std::vector<float> outputs(rows * width, -7.0f);
  const std::vector<Index> all = all_of(width);
  const OutputMap map{all, {}};
  run_dense(*plan, rows, loader, map, outputs, observer);
  // One row after the other, the faster way of both: the same bits.
  const RowPlan by_row(*plan);
  for (const bool skip : {true, false}) {
    std::vector<float> again(outputs.size(), -8.0f);
    by_row.run(rows, *loader(), map, again, skip);
    EXPECT_EQ(bits(again), bits(outputs));
  }
  AdaptiveRun adaptive;
  for (int i = 0; i < 24; ++i) {
    std::vector<float> again(outputs.size(), -9.0f);
    adaptive(*plan, rows, loader, map, again, {});
    EXPECT_EQ(bits(again), bits(outputs));
  }
  EXPECT_EQ(adaptive.most_rows().has_value(), rows > 0 && rows < 32);
  return outputs;
}

// The same rows, scaled, as the reference reads them.
std::vector<float> scaled(std::vector<float> values, std::size_t width, const InputScaling& scaling) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t n = i % width;
    if (!scaling.mean.empty()) values[i] -= scaling.mean[scaling.mean.size() == 1 ? 0 : n];
    if (!scaling.scale.empty()) values[i] *= scaling.scale[scaling.scale.size() == 1 ? 0 : n];
  }
  return values;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-5 * (1 + std::abs(expected[i]))) << i;
}

struct Rows {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  explicit Rows(std::size_t size, std::uint64_t seed = 5) {
    Random random(seed);
    for (std::size_t i = 0; i < size; ++i)
      bytes.push_back(random.below(3) == 0 ? static_cast<std::uint8_t>(random.below(256)) : 0);
    floats.assign(bytes.begin(), bytes.end());
  }
};

TEST(DenseRun, AgreesWithTheReferenceOnBytesFloatsAndSparseRows) {
  const MemoryLayers network = mixed_network({19, 40, 33, 21, 8, 5, 7}, 1);
  const InputMap map = same_inputs(19);
  const std::vector<float> mean{30}, scale{0.01f},
      means = scaled(std::vector<float>(19, 40), 19, {mean, scale});
  using Scalings = std::vector<InputScaling>;
  for (const InputScaling& scaling : Scalings{{mean, scale}, {means, scale}, {{}, scale}, {}}) {
    for (const std::size_t count : {1u, 31u, 32u, 33u, 300u}) {
      const Rows rows(count * 19);
      const InputRows inputs = full_rows(19, scaled(rows.floats, 19, scaling));
      const auto expected = reference_outputs(network, inputs, all_of(count), {});
      const auto found = run_all(network, count, dense_loader(std::span(rows.bytes), scaling, map));
      expect_near(found, expected);
      EXPECT_EQ(run_all(network, count, dense_loader(std::span(rows.floats), scaling, map)), found);
      std::vector<Offset> row_begin{0};
      std::vector<Index> column;
      std::vector<float> value;
      for (std::size_t i = 0; i < rows.floats.size(); ++i) {
        if (rows.floats[i] != 0) {
          column.push_back(i % 19);
          value.push_back(rows.floats[i]);
        }
        if (i % 19 == 18) row_begin.push_back(column.size());
      }
      const SparseRowsView sparse{row_begin, column, value};
      EXPECT_EQ(run_all(network, count, sparse_loader(sparse, scaling, map)), found);
    }
  }
}

TEST(DenseRun, ScalesInputsBeforeItAddsThemUpAndLeavesOutTheUnread) {
  // Columns 0 and 2 are input 1, column 3 is input 0, column 1 is not read; output 1 is a constant.
  const MemoryLayers network({{{1, 2, {0, 2}, {0, 1}, {1, 10}}, {0.5f}, Activation::identity}});
  const InputMap map({1, -1, 1, 0}, 2);
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  const std::vector<float> mean{1, 2, 3, 4}, scale{2}, constant{0, 9};
  const std::vector<Index> output_of{0, -1};
  const std::vector<std::uint8_t> bytes{5, 100, 6, 7, 1, 100, 3, 4};
  const std::vector<float> floats(bytes.begin(), bytes.end());
  const std::vector<Offset> row_begin{0, 4, 8};
  const std::vector<Index> column{0, 1, 2, 3, 0, 1, 2, 3};
  // (7-4)·2 + 10·((5-1)·2 + (6-3)·2) + 0.5, and nothing but the bias.
  const std::vector<float> expected{146.5f, 9, 0.5f, 9};
  const InputScaling scaling{mean, scale};
  for (const MakeLoader& loader :
       {dense_loader(std::span(bytes), scaling, map), dense_loader(std::span(floats), scaling, map),
        sparse_loader({row_begin, column, floats}, scaling, map)}) {
    std::vector<float> outputs(4);
    run_dense(*plan, 2, loader, {output_of, constant}, outputs, {});
    EXPECT_EQ(outputs, expected);
  }
  std::vector<float> outputs(4);
  run_dense(*plan, 2, sparse_loader({row_begin, column, floats}, {}, map), {output_of, constant}, outputs,
            {});
  EXPECT_EQ(outputs, (std::vector<float>{117.5f, 9, 44.5f, 9}));
}

TEST(DenseRun, ForgetsSparseEntriesOfThePanelBefore) {
  const MemoryLayers network({{{1, 3, {0, 3}, {0, 1, 2}, {1, 1, 1}}, {0}, Activation::identity}});
  const InputMap map = same_inputs(3);
  std::vector<Offset> row_begin{0};
  std::vector<Index> column;
  for (Index r = 0; r < 100; ++r) {
    column.push_back(r / 32 % 3);
    row_begin.push_back(column.size());
  }
  const std::vector<float> value(100, 1.0f);
  set_threads(1);
  EXPECT_EQ(run_all(network, 100, sparse_loader({row_begin, column, value}, {}, map)),
            std::vector<float>(100, 1.0f));
  set_threads(0);
}

TEST(DenseRun, KeepsRowOrderWhateverTheThreads) {
  const MemoryLayers network = mixed_network({16, 20, 3}, 7);
  const InputMap map = same_inputs(16);
  const Rows rows(2000 * 16);
  set_threads(1);
  const auto expected = run_all(network, 2000, dense_loader(std::span(rows.bytes), {}, map));
  for (const int count : {2, 3, 7}) {
    set_threads(count);
    EXPECT_EQ(run_all(network, 2000, dense_loader(std::span(rows.bytes), {}, map)), expected);
  }
  set_threads(0);
}

TEST(DenseRun, RunsWithoutRowsAndWithoutReadInputs) {
  const MemoryLayers network = mixed_network({16, 20, 3}, 7);
  const InputMap map = same_inputs(16);
  EXPECT_TRUE(run_all(network, 0, dense_loader(std::span<const float>(), {}, map)).empty());
  const InputMap none({-1, -1}, 0);
  const MemoryLayers constant({{{2, 0, {0, 0, 0}, {}, {}}, {3, -4}, Activation::relu}});
  const std::vector<float> values{1, 2, 3, 4};
  EXPECT_EQ(run_all(constant, 2, dense_loader(std::span(values), {}, none)),
            (std::vector<float>{3, 0, 3, 0}));
}

TEST(DenseRun, NamesTheInputThatIsNotFinite) {
  const MemoryLayers network = mixed_network({16, 20, 3}, 7);
  const InputMap map = same_inputs(16);
  for (const float odd : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Rows rows(100 * 16);
    rows.floats[70 * 16 + 9] = -odd;
    const std::string message =
        error_of([&] { run_all(network, 100, dense_loader(std::span(rows.floats), {}, map)); });
    EXPECT_EQ(message.substr(0, 22), "input 9 of row 70 is -") << message;
  }
}

TEST(DenseRun, StopsWhenAskedAndReportsHowFarItIs) {
  const MemoryLayers network = mixed_network({16, 20, 3}, 7);
  const InputMap map = same_inputs(16);
  const Rows rows(1000 * 16);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(run_all(network, 1000, dense_loader(std::span(rows.bytes), {}, map), {{}, stop.get_token()}),
               Cancelled);
  double last = -1;
  run_all(network, 1000, dense_loader(std::span(rows.bytes), {}, map), {[&](const Progress& progress) {
            EXPECT_GE(progress.done, last);
            EXPECT_EQ(progress.total, 1000);
            last = progress.done;
          }});
  EXPECT_EQ(last, 1000);
}

}  // namespace
}  // namespace filigree::internal
