// SPDX-License-Identifier: Apache-2.0
// Tests of the executor of a device, emulated by threads: the CPU's results for the same plans.
#include "infer/device_executor.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "device/test_emulated.h"
#include "infer/categories.h"
#include "network/challenge.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// A network of 64 neurons in which rows die, live and grow alike.
CategoryPlan challenge_plan(Index layers, bool compiled) {
  const RadixNet network(64, layers, 1);
  CategoryPlan plan;
  plan.ordered = plan_as_is(network, std::size_t{1} << 30, {});
  if (!compiled) return plan;
  const Compiled made = compile_exactly(radix_net(64, layers, 1));
  plan.input_of = made.network.parts().ports.input_of;
  plan.compiled = plan_compiled(all_layers(made.network), made.facts, {});
  plan.monotone = true;
  return plan;
}

// From nearly empty rows to nearly full ones.
InputRows some_rows(Index rows) {
  InputRows inputs;
  inputs.rows = rows;
  inputs.cols = 64;
  inputs.column = Buffer<std::uint16_t>(static_cast<std::size_t>(rows) * 64);
  Random random(3);
  std::size_t entries = 0;
  for (Index r = 0; r < rows; ++r) {
    for (std::uint16_t c = 0; c < 64; ++c)
      if (random.uniform() < (r % 20) / 20.0) inputs.column[entries++] = c;
    inputs.row_begin.push_back(entries);
  }
  return inputs;
}

void expect_same(const RunResult& found, const RunResult& expected) {
  EXPECT_EQ(found.live, expected.live);
  EXPECT_EQ(found.live_rows, expected.live_rows);
}

TEST(DeviceExecutor, FindsTheCpusCategories) {
  const InputRows images = some_rows(150);
  for (const bool compiled : {false, true}) {
    const CategoryPlan plan = challenge_plan(40, compiled);
    for (const bool filter : {true, false}) {
      if (!full_tests() && filter != compiled) continue;
      RunOptions options;
      options.filter = filter;
      options.merge_rows = compiled;
      const CategoryResult expected = find_categories(plan, images, options, {});
      DeviceExecutor device(*cuda_backend(), {0});
      device.prepare(*plan.ordered);
      options.device = &device;
      const CategoryResult found = find_categories(plan, images, options, {});
      expect_same(found.run, expected.run);
      EXPECT_EQ(found.settled_rows, expected.settled_rows);
      EXPECT_GT(found.run.live.size(), 0u);
      EXPECT_LT(found.run.live.size(), 150u);
      if (filter) {
        EXPECT_LT(found.run.distinct_rows[30], 150);
      }
    }
  }
}

TEST(DeviceExecutor, SplitsRowsOverDevicesAndPasses) {
  const InputRows images = some_rows(1300);
  const CategoryPlan plan = challenge_plan(3, false);
  RunOptions options;
  const CategoryResult expected = find_categories(plan, images, options, {});
  const EmulatedMachine few("devices=2 memory=67900000");  // about 512 rows on each
  DeviceExecutor device(*cuda_backend(), {0, 1});
  options.device = &device;
  expect_same(find_categories(plan, images, options, {}).run, expected.run);
}

TEST(DeviceExecutor, SaysHowMuchMemoryIsMissing) {
  const InputRows images = some_rows(10);
  const CategoryPlan plan = challenge_plan(3, false);
  const EmulatedMachine none("memory=1000");
  DeviceExecutor device(*cuda_backend(), {0});
  RunOptions options;
  options.device = &device;
  const std::string error = error_of([&] { find_categories(plan, images, options, {}); });
  EXPECT_NE(error.find("device 0 (emulated) has 1000 of 1000 bytes free"), std::string::npos) << error;
}

TEST(DeviceExecutor, RunsEveryActivation) {
  std::vector<Layer> layers;
  Index width = 30;
  for (const Activation activation : {Activation::relu, Activation::leaky_relu, Activation::tanh,
                                      Activation::sigmoid, Activation::softplus, Activation::identity}) {
    Layer layer{random_csr(width + 3, width, 0.4, width), {}, {activation, kNoCap, 0.1f}};
    layer.bias.assign(static_cast<std::size_t>(width) + 3, 0.125f);
    layers.push_back(std::move(layer));
    width += 3;
  }
  const auto plan = plan_as_is(MemoryLayers(std::move(layers)), std::size_t{1} << 30, {});
  std::vector<float> values(75 * 30);
  Random random(5);
  for (float& v : values) v = random.normal();
  std::vector<Index> outputs{3, -1, 44, 0}, inputs(30);
  for (Index i = 0; i < 30; ++i) inputs[i] = i;
  const std::vector<float> constant{0, 7, 0, 0};
  const InputMap map(inputs, 30);
  const InputScaling none;
  const MakeLoader loader = dense_loader(std::span<const float>(values), none, map);
  std::vector<float> expected(75 * 4), found(75 * 4);
  run_dense(*plan, 75, loader, {outputs, constant}, expected, {});
  DeviceExecutor(*cuda_backend(), {0}).run_dense(*plan, 75, loader, {outputs, constant}, found, {});
  // Curves are within 1e-6 of the truth, relative, on both sides.
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], 1e-5 * std::max(1.0f, std::fabs(expected[i]))) << i;
}

}  // namespace
}  // namespace filigree::internal
