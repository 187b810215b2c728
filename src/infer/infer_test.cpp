// SPDX-License-Identifier: Apache-2.0
// Tests of running networks: the executor against the reference, and categories against both.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/test_threads.h"
#include "data/digits.h"
#include "infer/categories.h"
#include "infer/panel_store.h"
#include "infer/reference.h"
#include "network/challenge.h"
#include "network/test_bounds.h"
#include "network/test_networks.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

InputRows random_inputs(Index rows, Index cols, double density, std::uint64_t seed) {
  const CsrMatrix m = random_csr(rows, cols, density, seed);
  InputRows inputs;
  inputs.rows = rows;
  inputs.cols = cols;
  inputs.row_begin = m.row_begin;
  inputs.column = Buffer<std::uint16_t>(m.column.size() + 1);
  inputs.value = Buffer<float>(m.column.size() + 1);
  for (std::size_t e = 0; e < m.column.size(); ++e) {
    inputs.column[e] = static_cast<std::uint16_t>(m.column[e]);
    inputs.value[e] = std::abs(m.value[e]);
  }
  return inputs;
}

std::vector<Index> all_rows(const InputRows& inputs) {
  std::vector<Index> rows(inputs.rows);
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

// Layers of any sign in which some rows die and most do not, far from any edge of rounding.
std::vector<Layer> random_layers(Index width, int depth, float bias, std::uint64_t seed) {
  std::vector<Layer> layers;
  for (int l = 0; l < depth; ++l) {
    CsrMatrix w = random_csr(width, width, 0.3, seed + l);
    for (float& v : w.value) v *= 0.3f;
    layers.push_back({std::move(w), std::vector<float>(width, bias), {Activation::relu, 6}});
  }
  return layers;
}

MemoryLayers random_network(Index width, int depth, float bias, std::uint64_t seed) {
  return MemoryLayers(random_layers(width, depth, bias, seed));
}

struct Outputs {
  std::vector<float> values;
  RunResult result;
};

Outputs run_outputs(const PlanSource& plan, const InputRows& inputs, Index outputs, RunOptions options = {}) {
  Outputs found;
  found.values.assign(inputs.rows * outputs, 0.0f);
  options.output = [&](Index row, const float* panel, Index lane) {
    for (Index o = 0; o < outputs; ++o) found.values[row * outputs + o] = panel[o * kPanelRows + lane];
  };
  found.result = run(plan, inputs, {}, {}, options, {});
  return found;
}

// For each output of each row.
std::vector<double> bounds_of(const LayerSource& network, const InputRows& inputs) {
  std::vector<Layer> layers;
  for (Index l = 0; l < network.layers(); ++l) layers.push_back(*network.layer(l));
  std::vector<double> bounds;
  for (Index r = 0; r < inputs.rows; ++r) {
    std::vector<double> row(inputs.cols, 0.0);
    for (Offset e = inputs.row_begin[r]; e < inputs.row_begin[r + 1]; ++e)
      row[inputs.column[e]] = inputs.value.empty() ? 1.0 : double{inputs.value[e]};
    const std::vector<double> of_row = error_bounds(layers, row);
    bounds.insert(bounds.end(), of_row.begin(), of_row.end());
  }
  return bounds;
}

TEST(Executor, AgreesWithTheReferenceRowByRow) {
  const MemoryLayers network = random_network(40, 6, -0.05f, 1);
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  for (const Index rows : {1, 2, 31, 32, 33, 64, 200}) {
    const InputRows inputs = random_inputs(rows, 40, 0.5, 7);
    const auto expected = reference_outputs(network, inputs, all_rows(inputs), {});
    const auto found = run_outputs(*plan, inputs, 40);
    const std::vector<double> bounds = bounds_of(network, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(found.values[i], expected[i], bounds[i]) << rows << ' ' << i;
  }
}

TEST(Executor, KeepsRowOrderWhenRowsDieWhateverTheThreads) {
  const RadixNet recipe(256, 20, 3);
  std::vector<Layer> layers;
  for (Index l = 0; l < 20; ++l) {
    layers.push_back(*recipe.layer(l));
    std::ranges::fill(layers.back().bias, -0.2f);  // lets more rows live than the challenge's
  }
  const MemoryLayers network(std::move(layers));
  const InputRows inputs = digit_images(500, 16, 5, {});
  const auto expected = reference_categories(network, inputs, all_rows(inputs), {});
  ASSERT_GT(expected.size(), 10u);
  ASSERT_LT(expected.size(), 490u);
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    for (const bool filter : {true, false}) {
      RunOptions options;
      options.filter = filter;
      const RunResult found = run(*plan, inputs, {}, {}, options, {});
      EXPECT_EQ(found.live, expected) << count << ' ' << filter;
      EXPECT_EQ(found.live_rows.back(), static_cast<Offset>(expected.size()));
      EXPECT_TRUE(std::ranges::is_sorted(found.live_rows, std::greater<>()));
      const Offset computed = filter ? found.live_rows[found.live_rows.size() - 2] : 500;
      EXPECT_EQ(found.distinct_rows.back(), computed);
    }
  }
  set_threads(0);
}

TEST(Executor, AgreesWithTheReferenceWhateverTheActivation) {
  for (std::size_t a = 0; a < kActivationNames.size(); ++a) {
    for (const float bias : {0.0f, -0.05f}) {
      for (const float slope : {0.1f, -0.1f, 0.0f}) {
        std::vector<Layer> layers = random_layers(20, 5, bias, 3);
        for (Layer& layer : layers) {
          layer.activation = {static_cast<Activation>(a), kNoCap, slope};
        }
        const MemoryLayers network(std::move(layers));
        const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
        const InputRows inputs = random_inputs(70, 20, 0.1, 8);  // some rows are zero from the start
        const auto expected = reference_outputs(network, inputs, all_rows(inputs), {});
        const auto found = run_outputs(*plan, inputs, 20);
        const std::vector<double> bounds = bounds_of(network, inputs);
        for (std::size_t i = 0; i < expected.size(); ++i)
          ASSERT_NEAR(found.values[i], expected[i], bounds[i])
              << kActivationNames[a] << ' ' << bias << ' ' << i;
        EXPECT_EQ(found.result.live, reference_categories(network, inputs, all_rows(inputs), {}))
            << kActivationNames[a] << ' ' << bias << ' ' << slope;
      }
    }
  }
}

TEST(Executor, KeepsDeadRowsWhereABiasCanWakeThem) {
  // Every row is zero after layer 1 and one again after layer 2.
  std::vector<Layer> layers = {{{2, 2, {0, 1, 2}, {0, 1}, {1, 1}}, {-100, -100}, {Activation::relu, 6}},
                               {{1, 2, {0, 2}, {0, 1}, {1, 1}}, {1}, {Activation::relu, 6}}};
  const MemoryLayers network(std::move(layers));
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  const InputRows inputs = random_inputs(50, 2, 0.9, 2);
  EXPECT_EQ(run(*plan, inputs, {}, {}, {}, {}).live.size(), 50u);
}

TEST(Executor, RunsOnlyTheRowsItIsGiven) {
  const RadixNet network(64, 10, 3);
  const InputRows inputs = digit_images(300, 8, 5, {});
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  const std::vector<Index> some{3, 5, 7, 100, 299};
  EXPECT_EQ(run(*plan, inputs, {}, some, {}, {}).live, reference_categories(network, inputs, some, {}));
}

TEST(Executor, StreamsLayersAndRowsWithinLittleMemory) {
  const RadixNet network(256, 24, 4);
  const InputRows inputs = digit_images(700, 16, 6, {});
  const auto resident = plan_as_is(network, std::size_t{1} << 30, {});
  const RunResult expected = run(*resident, inputs, {}, {}, {}, {});
  EXPECT_EQ(plan_as_is(network, 1000, {}), nullptr);
  for (const std::size_t limit : {std::size_t{1}, std::size_t{100} << 10, std::size_t{1} << 20}) {
    RunOptions options;
    options.memory_limit = limit;  // a layer at a time, several passes over the inputs; then more
    const RunResult found = run(StreamedPlan(network), inputs, {}, {}, options, {});
    EXPECT_EQ(found.live, expected.live) << limit;
    EXPECT_EQ(found.live_rows, expected.live_rows) << limit;
  }
}

TEST(Executor, StopsWhenAsked) {
  const RadixNet network(64, 10, 3);
  const InputRows inputs = digit_images(300, 8, 5, {});
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(run(*plan, inputs, {}, {}, {}, Observer{{}, stop.get_token()}), Cancelled);
}

TEST(Executor, RethrowsWhatAnOutputCallbackThrows) {
  const RadixNet network(64, 2, 3);
  const InputRows inputs = digit_images(300, 8, 5, {});
  const auto plan = plan_as_is(network, std::size_t{1} << 30, {});
  RunOptions options;
  options.output = [](Index, const float*, Index) { throw Error("full"); };
  EXPECT_THROW(run(*plan, inputs, {}, {}, options, {}), Error);
}

TEST(PanelStore, MergesEqualRowsAndNothingElse) {
  // Three panels; the rows repeat four kinds, spread over all of them.
  PanelStore store(3);
  for (Index p = 0; p < 3; ++p) {
    RowPanel panel;
    panel.values = Buffer<float>(3 * kPanelRows);
    panel.count = p == 2 ? 7 : kPanelRows;
    for (Index lane = 0; lane < panel.count; ++lane) {
      const Index row = 100 - p * kPanelRows - lane;
      panel.tags[lane] = {row, 2};
      for (Index n = 0; n < 3; ++n) panel.values[n * kPanelRows + lane] = (row % 4) * 10 + n;
    }
    store.add(std::move(panel));
  }
  std::vector<Index> absorbed_by(101, -1);
  store.merge_equal_rows(absorbed_by);
  ASSERT_EQ(store.rows(), 4u);
  const std::vector<RowPanel> left = store.take();
  ASSERT_EQ(left.size(), 1u);
  Index stands_for = 0;
  for (int lane = 0; lane < 4; ++lane) {
    const RowTag tag = left[0].tags[lane];
    stands_for += tag.stands_for;
    EXPECT_EQ(absorbed_by[tag.row], -1);
    EXPECT_LT(tag.row, 100 - 2 * kPanelRows - 2) << "the smallest number stands for the others";
    for (Index n = 0; n < 3; ++n)
      EXPECT_EQ(left[0].values[n * kPanelRows + lane], static_cast<float>((tag.row % 4) * 10 + n));
  }
  EXPECT_EQ(stands_for, 2 * (2 * kPanelRows + 7));
  for (Index row = 100; row > 100 - 2 * kPanelRows; --row) {
    ASSERT_GE(absorbed_by[row], 0);
    EXPECT_EQ(absorbed_by[row] % 4, row % 4);
  }
}

CategoryPlan compiled_plan(const Network& network) {
  std::vector<std::shared_ptr<const PlanLayer>> ordered(network.layers());
  const Compiled compiled = compile_exactly(
      network, {},
      [&](Index l, const Layer& layer, const LayerFacts& facts, const DistinctRows& distinct,
          const DistinctRows* before) {
        ordered[l] = std::make_shared<PlanLayer>(make_ordered_layer(layer, distinct, before, facts));
      });
  CategoryPlan plan;
  plan.monotone = true;
  plan.input_of = compiled.network.parts().ports.input_of;
  plan.compiled = plan_compiled(all_layers(compiled.network), compiled.facts, {});
  plan.ordered = std::make_unique<ResidentPlan>(std::move(ordered));
  return plan;
}

TEST(Categories, CompiledAgreesWithPlainWithAndWithoutMergingRows) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Network network = radix_net(256, 40, seed);
    const InputRows inputs = digit_images(2000, 16, seed, {});
    CategoryPlan plain;
    plain.ordered = plan_as_is(*network.parts().layers, std::size_t{1} << 30, {});
    const auto expected = find_categories(plain, inputs, {}, {});
    ASSERT_GT(expected.run.live.size(), 0u);
    const CategoryPlan compiled = compiled_plan(network);
    for (const bool merge : {true, false}) {
      RunOptions options;
      options.merge_rows = merge;
      const auto found = find_categories(compiled, inputs, options, {});
      EXPECT_EQ(found.run.live, expected.run.live) << seed << merge;
      EXPECT_EQ(found.run.live_rows.back(), static_cast<Offset>(found.run.live.size()));
      EXPECT_LE(found.run.distinct_rows.back(), merge ? 4 : 2000) << "saturated rows are one row";
    }
  }
}

TEST(Categories, SettleRowsOnAnUnstableFixedPointInThePlainOrder) {
  // y = x0 + x1 − 0.3 on two neurons that feed both: 0.3 is a fixed point, and an unstable one. The row that
  // starts there must end as the plain order has it, rows beside it must be decided without help.
  std::vector<Layer> layers;
  for (int l = 0; l < 30; ++l)
    layers.push_back({{2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1, 1, 1, 1}}, {-0.3f, -0.3f}, {Activation::relu, 32}});
  const Network network = in_memory(std::move(layers));
  const InputRows inputs = full_rows(2, {0.29f, 0.29f, 0.3f, 0.3f, 0.31f, 0.31f});
  CategoryPlan plain;
  plain.ordered = plan_as_is(*network.parts().layers, std::size_t{1} << 30, {});
  const auto expected = find_categories(plain, inputs, {}, {});
  RunOptions options;
  options.merge_rows = true;
  const auto found = find_categories(compiled_plan(network), inputs, options, {});
  EXPECT_EQ(found.settled_rows, 1);
  EXPECT_EQ(found.run.live, expected.run.live);
  EXPECT_TRUE(std::ranges::binary_search(found.run.live, 2));
  EXPECT_FALSE(std::ranges::binary_search(found.run.live, 0));
}

TEST(OrderedPlan, GivesTheBitsOfTheOriginalNetwork) {
  const Network network = radix_net(256, 9, 8);
  const InputRows inputs = digit_images(64, 16, 8, {});
  const auto original = plan_as_is(*network.parts().layers, std::size_t{1} << 30, {});
  const CategoryPlan plan = compiled_plan(network);
  const auto expected = run_outputs(*original, inputs, 256);
  const Index kinds = plan.ordered->layer(8)->outputs();
  EXPECT_EQ(kinds, 16);
  const auto found = run_outputs(*plan.ordered, inputs, kinds);
  const DistinctRows distinct = find_distinct_rows(*network.parts().layers->layer(8));
  for (std::size_t r = 0; r < 64; ++r)
    for (std::size_t o = 0; o < 256; ++o)
      ASSERT_EQ(
          expected.values[r * 256 + o],
          found.values[r * static_cast<std::size_t>(kinds) + static_cast<std::size_t>(distinct.kind_of[o])]);
}

TEST(Reference, KnowsWhichRowsRoundingDecides) {
  std::vector<Layer> layers;
  for (int l = 0; l < 30; ++l) layers.push_back({{1, 1, {0, 1}, {0}, {2}}, {-0.3f}, {Activation::relu, 32}});
  const MemoryLayers network(std::move(layers));
  const InputRows inputs = full_rows(1, {0.29f, 0.3f, 0.31f});
  const ReferenceVerdict verdict = reference_verdict(network, inputs, all_rows(inputs), {});
  EXPECT_EQ(verdict.alive, std::vector<Index>{2});
  EXPECT_EQ(verdict.possibly_alive, (std::vector<Index>{1, 2}));
}

}  // namespace
}  // namespace filigree::internal
