// SPDX-License-Identifier: Apache-2.0
// Tests of networks whose rows go different ways, against each row by itself in double.
#include "infer/routed_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/test_threads.h"
#include "infer/dense_run.h"
#include "kernels/test_support.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

Layer random_layer(Index inputs, Index outputs, Activation activation, std::uint64_t seed) {
  CsrMatrix w = random_csr(outputs, inputs, 0.4, seed);
  for (float& v : w.value) v *= 0.5f;
  std::vector<float> bias(outputs);
  Random random(seed);
  for (float& b : bias) b = random.uniform(-0.3, 0.3);
  return {std::move(w), std::move(bias), activation};
}

Layer random_mixture(Index inputs, Index outputs, Index experts, Index active, std::uint64_t seed) {
  Layer layer = random_layer(inputs, outputs, Activation::relu, seed);
  for (Index e = 1; e < experts; ++e)
    append_expert(layer,
                  random_layer(inputs, outputs, Activation::relu, seed + 10 * static_cast<std::uint64_t>(e)));
  Layer gate = random_layer(inputs, experts, Activation::identity, seed + 5);
  layer.gate = Gate{std::move(gate.weights), std::move(gate.bias), active};
  return layer;
}

// 12-20-16-12-5: a mixture first and third, exits behind the first three layers.
struct Subject {
  std::vector<Layer> layers;
  std::vector<ExitHead> exits;

  explicit Subject(bool mixtures) {
    layers.push_back(mixtures ? random_mixture(12, 20, 4, 2, 100)
                              : random_layer(12, 20, Activation::relu, 100));
    layers.push_back(random_layer(20, 16, Activation::tanh, 200));
    layers.push_back(mixtures ? random_mixture(16, 12, 3, 1, 300)
                              : random_layer(16, 12, Activation::relu, 300));
    layers.push_back(random_layer(12, 5, Activation::identity, 400));
    for (const Index after : {1, 2, 3}) {
      Layer head = random_layer(layers[after].inputs(), 5, Activation::identity,
                                500 + static_cast<std::uint64_t>(after));
      for (float& v : head.weights.value) v *= 4;  // some rows are sure, some are not
      exits.push_back({after, std::move(head)});
    }
  }
};

std::vector<double> through(const Layer& layer, const std::vector<double>& x) {
  std::vector<double> y(layer.bias.begin(), layer.bias.end());
  for (Index r = 0; r < layer.weights.rows; ++r) {
    const auto columns = layer.weights.view().row_columns(r);
    const auto values = layer.weights.view().row_values(r);
    double& sum = y[r];
    for (std::size_t e = 0; e < columns.size(); ++e) sum += double{values[e]} * x[columns[e]];
    sum = layer.activation(sum);
  }
  return y;
}

std::vector<double> shares(const std::vector<double>& z) {
  double sum = 0;
  std::vector<double> share;
  for (const double each : z) sum += std::exp(each);
  for (const double each : z) share.push_back(std::exp(each) / sum);
  return share;
}

struct Answer {
  std::vector<double> y;
  std::size_t exit = 0;
  Offset connections = 0;
  double margin = 1;  // how far the closest decision was from going the other way
};

Answer answer(const Subject& subject, std::vector<double> x, double threshold) {
  Answer result;
  for (std::size_t l = 0; l < subject.layers.size(); ++l) {
    const Layer& layer = subject.layers[l];
    if (layer.gate) {
      const Gate& gate = *layer.gate;
      const std::size_t active = gate.active;
      const std::vector<double> share = shares(through({gate.weights, gate.bias, Activation::identity}, x));
      result.connections += gate.weights.nnz();
      std::vector<std::size_t> order(share.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return share[a] > share[b]; });
      result.margin = std::min(result.margin, share[order[active - 1]] - share[order[active]]);
      double chosen = 0;
      for (std::size_t i = 0; i < active; ++i) chosen += share[order[i]];
      std::vector<double> y(layer.outputs(), 0.0);
      for (std::size_t i = 0; i < active; ++i) {
        const Layer expert = expert_of(layer, order[i]);
        const std::vector<double> own = through(expert, x);
        result.connections += expert.weights.nnz();
        for (std::size_t n = 0; n < y.size(); ++n)
          y[n] += share[order[i]] / (active == 1 ? 1 : chosen) * own[n];
      }
      x = y;
    } else {
      x = through(layer, x);
      result.connections += layer.weights.nnz();
    }
    for (std::size_t e = 0; e < subject.exits.size() && threshold < 1; ++e) {
      if (subject.exits[e].after != static_cast<Index>(l) + 1) continue;
      const std::vector<double> y = through(subject.exits[e].layer, x);
      result.connections += subject.exits[e].layer.weights.nnz();
      const double sure = std::ranges::max(shares(y));
      result.margin = std::min(result.margin, std::fabs(sure - threshold));
      if (sure <= threshold) continue;
      result.y = y;
      result.exit = e;
      return result;
    }
  }
  result.y = x;
  result.exit = subject.exits.size();
  return result;
}

struct Given {
  std::vector<float> outputs;
  RunWork work;
};

Given run(const Subject& subject, double threshold, std::span<const float> inputs) {
  std::vector<Index> all(12);
  std::iota(all.begin(), all.end(), 0);
  const InputMap map(all, 12);
  const RoutedPlan plan(MemoryLayers(subject.layers), subject.exits, threshold, true);
  const std::size_t rows = inputs.size() / 12;
  Given given{std::vector<float>(rows * 5, -7.0f), {}};
  plan.run(rows, dense_loader(inputs, {}, map), given.outputs, given.work, {});
  return given;
}

std::vector<float> random_inputs(std::size_t rows, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> inputs(rows * 12);
  for (float& v : inputs) v = random.normal();
  return inputs;
}

TEST(RoutedRun, TakesEachRowItsWay) {
  for (const bool mixtures : {false, true}) {
    const Subject subject(mixtures);
    for (const double threshold : {0.0, 0.5, 0.8, 1.0}) {
      for (const std::size_t rows : {1, 31, 32, 33, 255, 700}) {
        SCOPED_TRACE(testing::Message()
                     << mixtures << ", threshold " << threshold << ", " << rows << " rows");
        const std::vector<float> inputs = random_inputs(rows, rows);
        const Given given = run(subject, threshold, inputs);
        Offset connections = 0;
        std::vector<Offset> by_exit(subject.exits.size() + 1, 0);
        std::size_t close = 0;
        for (std::size_t r = 0; r < rows; ++r) {
          const auto row = std::span(inputs).subspan(12 * r, 12);
          const Answer expected = answer(subject, {row.begin(), row.end()}, threshold);
          if (expected.margin < 1e-5) {
            ++close;
            continue;
          }
          connections += expected.connections;
          ++by_exit[expected.exit];
          for (std::size_t o = 0; o < 5; ++o) ASSERT_NEAR(given.outputs[5 * r + o], expected.y[o], 1e-4) << r;
        }
        ASSERT_LT(close, 3u);
        if (close > 0) continue;
        EXPECT_EQ(given.work.connections, connections);
        EXPECT_EQ(given.work.rows_by_exit, by_exit);
        if (rows == 700 && threshold == 0.5) {
          EXPECT_GT(std::ranges::min(by_exit), 0) << "every way is to be taken";
        }
      }
    }
  }
}

TEST(RoutedRun, GivesTheSameBitsForAnyThreads) {
  const Subject subject(true);
  const std::vector<float> inputs = random_inputs(900, 7);
  set_threads(1);
  const Given one = run(subject, 0.6, inputs);
  set_threads(3);
  const Given three = run(subject, 0.6, inputs);
  set_threads(0);
  EXPECT_EQ(bits(one.outputs), bits(three.outputs));
  EXPECT_EQ(one.work.connections, three.work.connections);
}

TEST(RoutedRun, IsTheDenseRunWhereNobodyLeaves) {
  const Subject subject(false);
  const std::vector<float> inputs = random_inputs(300, 8);
  const Given given = run(subject, 1, inputs);
  std::vector<Index> all(12), outputs(5);
  std::iota(all.begin(), all.end(), 0);
  std::iota(outputs.begin(), outputs.end(), 0);
  const InputMap map(all, 12);
  const auto plan = plan_as_is(MemoryLayers(subject.layers), std::size_t{1} << 30, {});
  std::vector<float> dense(given.outputs.size());
  run_dense(*plan, 300, dense_loader(std::span<const float>(inputs), {}, map), {outputs, {}}, dense, {});
  EXPECT_EQ(bits(given.outputs), bits(dense));
}

}  // namespace
}  // namespace filigree::internal
