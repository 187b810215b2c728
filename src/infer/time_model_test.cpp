// SPDX-License-Identifier: Apache-2.0
// Tests of the time model: what is counted, and that prices come out of measurements.
#include "infer/time_model.h"

#include <gtest/gtest.h>

#include <numeric>

namespace filigree::internal {
namespace {

double at(const PartCounts& counts, TimePart part) {
  return counts[static_cast<std::size_t>(part)];
}

Layer full_layer(Index inputs, Index outputs, Activation activation) {
  Layer layer;
  layer.activation = activation;
  layer.weights.rows = outputs;
  layer.weights.cols = inputs;
  for (Index r = 0; r < outputs; ++r) {
    for (Index c = 0; c < inputs; ++c) {
      layer.weights.column.push_back(c);
      layer.weights.value.push_back(0.1f * static_cast<float>(r + c + 1));
    }
    layer.weights.row_begin.push_back(layer.weights.nnz());
    layer.bias.push_back(0);
  }
  return layer;
}

ResidentPlan plan_of(const std::vector<Layer>& layers) {
  std::vector<std::shared_ptr<const PlanLayer>> all;
  for (const Layer& layer : layers)
    all.push_back(std::make_shared<PlanLayer>(make_plan_layer(layer, facts_of(layer, kNoCap))));
  return ResidentPlan(std::move(all));
}

TEST(CountParts, CountsConnectionsByTheWayTheyAreRun) {
  const ResidentPlan plan =
      plan_of({full_layer(5, 14, Activation::tanh), full_layer(14, 3, Activation::identity)});
  std::vector<Index> all(5);
  std::iota(all.begin(), all.end(), 0);
  const PartCounts counts = count_parts(plan, InputMap(all, 5), 33);  // two panels
  EXPECT_EQ(at(counts, TimePart::call), 1);
  EXPECT_EQ(at(counts, TimePart::column), 2 * 5);
  EXPECT_EQ(at(counts, TimePart::input), 2 * 5);
  EXPECT_EQ(at(counts, TimePart::eights), 2 * 8 * 5);
  EXPECT_EQ(at(counts, TimePart::fours), 2 * 6 * 5);
  EXPECT_EQ(at(counts, TimePart::alone), 2 * 3 * 14);
  EXPECT_EQ(at(counts, TimePart::near) + at(counts, TimePart::far), 0);
  EXPECT_EQ(at(counts, TimePart::output), 2 * (14 + 3));
  EXPECT_EQ(at(counts, TimePart::run), 2 * (2 + 1));
  EXPECT_EQ(at(counts, TimePart::curve), 2 * 14);
  EXPECT_EQ(at(counts, TimePart::answer), 2 * 3);
}

TEST(CountParts, LeavesOutBlocksOfColumnsThatNobodyReads) {
  const ResidentPlan plan = plan_of({full_layer(3, 4, Activation::relu)});
  std::vector<Index> map(40, -1);
  map[0] = 0;
  map[3] = 1;
  map[39] = 2;  // of the first and the last block of sixteen
  const PartCounts counts = count_parts(plan, InputMap(map, 3), 32);
  EXPECT_EQ(at(counts, TimePart::column), 16 + 8);
  EXPECT_EQ(at(counts, TimePart::input), 3);
}

TEST(CountParts, CountsColumnsThatAreAddedUpTwice) {
  const ResidentPlan plan = plan_of({full_layer(2, 4, Activation::relu)});
  const PartCounts counts = count_parts(plan, InputMap({0, 0, 1}, 2), 32);
  EXPECT_EQ(at(counts, TimePart::column), 3);
  EXPECT_EQ(at(counts, TimePart::input), 2 + 3);
}

TEST(PartPrices, AreAddedUp) {
  PartPrices prices;
  std::iota(prices.seconds.begin(), prices.seconds.end(), 1.0);
  PartCounts counts = {};
  counts.front() = 2;
  counts.back() = 3;
  EXPECT_EQ(prices.of(counts), 2 * 1 + 3 * static_cast<double>(kTimeParts));
}

TEST(FitPrices, FindsPricesThatExplainTheTimes) {
  std::vector<TimedPlan> plans;
  for (const Index width : {4, 16, 40, 96}) {
    std::vector<Index> all(8);
    std::iota(all.begin(), all.end(), 0);
    auto plan = std::make_unique<ResidentPlan>(
        plan_of({full_layer(8, width, Activation::relu), full_layer(width, 8, Activation::relu)}));
    plans.emplace_back(std::move(plan), InputMap(all, 8), 32);
  }
  const PartPrices prices = fit_prices(plans, 32, 3, {});
  double sum = 0;
  for (const double seconds : prices.seconds) {
    EXPECT_GE(seconds, 0);
    sum += seconds;
  }
  EXPECT_GT(sum, 0);
  EXPECT_GT(prices.yardstick, 0);
  EXPECT_LT(prices.error, 0.9) << "half of the networks are off by more";
  EXPECT_LE(prices.error, prices.worst_error);
}

TEST(PriceSamples, HaveSomeOfEveryPart) {
  PartCounts most = {};
  for (const TimedPlan& plan : price_samples(1)) {
    const PartCounts counts = plan.parts();
    for (std::size_t p = 0; p < kTimeParts; ++p) most[p] = std::max(most[p], counts[p]);
  }
  for (std::size_t p = 0; p < kTimeParts; ++p) EXPECT_GT(most[p], 0) << time_part_names()[p];
}

}  // namespace
}  // namespace filigree::internal
