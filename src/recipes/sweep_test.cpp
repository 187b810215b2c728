// SPDX-License-Identifier: Apache-2.0
// Tests of sweeps: fair budgets, files, stopping and going on.
#include "filigree/sweep.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/test_files.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

SweepOptions quick() {
  SweepOptions options;
  options.training.network.neurons = {784, 40, 40, 10};
  options.training.run.epochs = 1;
  options.budgets = {2000, 6000};
  options.seeds = 2;
  return options;
}

Data digits() {
  return load_data({.source = "digits:300"});
}

TEST(Sweep, GivesDenseAndSparseAsManyWeights) {
  const TestDirectory directory;
  const SweepResult result = sweep(digits(), quick(), {.path = directory / "s"});
  ASSERT_EQ(result.points.size(), 8u);
  ASSERT_EQ(result.means.size(), 2u);
  for (const SweepPoint& p : result.points) {
    EXPECT_LE(p.connections, p.budget);
    if (!p.dense) continue;
    EXPECT_EQ(p.network[1], p.network[2]);
    const Offset w = p.network[1];
    EXPECT_EQ(p.connections, 784 * w + w * w + w * 10);
    EXPECT_GT(784 * (w + 1) + (w + 1) * (w + 1) + (w + 1) * 10, p.budget) << "a wider one would fit";
  }
  EXPECT_NE(result.sentence.find("sparse network"), std::string::npos);
  const std::string csv = file_content(directory / "s" / "sweep.csv");
  EXPECT_EQ(std::ranges::count(csv, '\n'), 9);
  EXPECT_NE(file_content(directory / "s" / "sweep.svg").find("</svg>"), std::string::npos);
}

TEST(Sweep, GoesOnWithWhatIsMissing) {
  const TestDirectory directory;
  const Data data = digits();
  const SweepResult whole = sweep(data, quick(), {.path = directory / "whole"});
  std::stop_source stop;
  Observer observer;
  observer.stop = stop.get_token();
  observer.progress = [&](const Progress& progress) {
    if (progress.done >= 3) stop.request_stop();
  };
  EXPECT_THROW(sweep(data, quick(), {.path = directory / "part"}, observer), Cancelled);
  EXPECT_FALSE(std::filesystem::exists(directory / "part" / "sweep.svg"));
  const SweepStart start = read_sweep_start(directory / "part");
  const SweepResult rest = sweep(data, start.options, {.path = directory / "part", .resume = true});
  ASSERT_EQ(rest.points.size(), whole.points.size());
  for (std::size_t i = 0; i < rest.points.size(); ++i) {
    EXPECT_EQ(rest.points[i].accuracy, whole.points[i].accuracy);
    EXPECT_EQ(rest.points[i].network, whole.points[i].network);
  }
  EXPECT_EQ(rest.sentence, whole.sentence);
}

TEST(Sweep, RefusesWhatCannotBe) {
  const TestDirectory directory;
  const Data data = digits();
  const auto error = [&](const SweepOptions& options) {
    return error_of([&] { sweep(data, options, {.path = directory / "s"}); });
  };
  SweepOptions small = quick(), large = quick();
  small.budgets = {100};
  large.budgets = {1000000};
  EXPECT_NE(error(small).find("too few for a dense network; 795 are the least"), std::string::npos);
  EXPECT_NE(error(large).find("more than the"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory / "s"));
  EXPECT_THROW(sweep(data, {}, {.path = directory / "s"}), std::invalid_argument);
  sweep(data, quick(), {.path = directory / "s"});
  EXPECT_NE(error(quick()).find("holds a run already (sweep.json)"), std::string::npos);
  std::ofstream(directory / "s" / "sweep.csv")
      << "budget,kind,seed,network,connections,flops,test_score,seconds\n"
         "2000,dense,1,784-2-2-10,1592,3184,much,1\n";
  const std::string fault =
      error_of([&] { sweep(data, quick(), {.path = directory / "s", .resume = true}); });
  EXPECT_NE(fault.find("sweep.csv:2: 'much' is no number"), std::string::npos) << fault;
}

TEST(Sweep, DoublesBudgetsByDefault) {
  const std::vector<Offset> budgets = default_budgets(quick().training);
  ASSERT_GT(budgets.size(), 3u);
  EXPECT_EQ(budgets[0], 784 * 2 + 4 + 20);
  EXPECT_EQ(budgets[1], 2 * budgets[0]);
  EXPECT_LE(budgets.back(), 784 * 40 + 40 * 40 + 400);
}

}  // namespace
}  // namespace filigree::internal
