// SPDX-License-Identifier: Apache-2.0
// Tests of pruning from end to end, of lottery tickets and of time models as files.
#include "filigree/compress.h"

#include <gtest/gtest.h>

#include "filigree/runtime.h"
#include "filigree/session.h"
#include "io/test_files.h"
#include "network/network.h"
#include "sparse/test_errors.h"

namespace filigree::internal {
namespace {

Data digits() {
  return load_data({.source = "digits:600"});
}

// A small dense network, trained a little.
Network dense_network(const Data& data) {
  TrainOptions options;
  options.network.neurons = {784, 32, 24, 10};
  options.network.dense = true;
  options.run.epochs = 2;
  return train(data, options).network;
}

PruneOptions quick(PruneMethod method, double target) {
  PruneOptions options;
  options.training = pruning_defaults();
  options.training.evolution.final_sparsity = target;
  options.training.run.epochs = 4;
  options.training.evolution.update_every = 2;
  options.rows = 32;
  apply_method(options, method);
  return options;
}

TimeModel some_model() {
  TimeModel model{processor_name(), simd_name(), Session::current().threads(), 32};
  for (const char* name : {"call", "column", "input", "output", "run", "eights", "fours", "near", "far",
                           "alone", "curve", "answer"})
    model.parts.push_back({name, 1e-9 * (model.parts.size() + 1)});
  model.error = 0.03;
  model.worst_error = 0.4;
  model.yardstick_seconds = 4e-4;
  return model;
}

std::vector<Layer> layers_of_file(const std::filesystem::path& path) {
  return copied_layers(load(path));
}

TEST(Prune, OfEveryMethodEndsAtTheTargetAndCompact) {
  const Data data = digits();
  const Network network = dense_network(data);
  for (const PruneMethod method : {PruneMethod::magnitude, PruneMethod::random, PruneMethod::neurons,
                                   PruneMethod::fssl, PruneMethod::lottery}) {
    const TestDirectory directory;
    PruneOptions options = quick(method, 0.8);
    if (options.lottery) options.lottery->rounds = 2;
    options.time_model = directory / "time.json";  // to measure one takes long with sanitizers
    write_time_model(some_model(), options.time_model);
    const PruneRun run = prune(network, data, options, {.path = directory / "run"});
    const Offset whole = 784 * 32 + 32 * 24 + 24 * 10;
    EXPECT_EQ(run.before.parameters, whole + 32 + 24 + 10) << word(method);
    EXPECT_LE(run.after.parameters, whole / 5 + 1 + 66) << word(method);
    EXPECT_LT(run.bytes_after, 2 * run.bytes_before / 5) << word(method);
    EXPECT_GT(run.after.accuracy, 0.15) << word(method);
    EXPECT_EQ(run.time_check.has_value(), method == PruneMethod::fssl);
    EXPECT_EQ(layers_of_file(directory / "run" / "compact.safetensors"), copied_layers(run.compact));
    if (run.time_check) {
      EXPECT_GT(run.time_check->predicted, 0);
      EXPECT_GT(run.time_check->measured, 0);
      EXPECT_TRUE(std::filesystem::exists(directory / "run" / "time_model.json"));
    }
    EXPECT_NE(error_of([&] {
                prune(network, data, options, {.path = directory / "run"});
              }).find("holds a run already"),
              std::string::npos);
  }
}

TEST(Prune, GoesOnWhereItWasStopped) {
  const Data data = digits();
  const Network network = dense_network(data);
  for (const PruneMethod method : {PruneMethod::lottery, PruneMethod::fssl}) {
    const TestDirectory directory;
    PruneOptions options = quick(method, 0.8);
    if (options.lottery) options.lottery->rounds = 2;
    if (!options.lottery) {  // the same time model for both
      options.time_model = directory / "model.json";
      write_time_model(some_model(), options.time_model);
    }
    prune(network, data, options, {.path = directory / "whole"});
    for (const int stop_at : {2, 6, 11}) {  // epochs, over all rounds
      const RunDirectory part{.path = directory / ("part" + std::to_string(stop_at))};
      std::stop_source stop;
      int epochs = 0;
      PruneObserver observer;
      observer.training.epoch = [&](const EpochReport&) {
        if (++epochs == stop_at) stop.request_stop();
      };
      observer.training.stop = stop.get_token();
      const int all = options.lottery ? 12 : 4;
      if (stop_at < all)
        EXPECT_THROW(prune(network, data, options, part, observer), Cancelled);
      else
        continue;
      PruneStart start = read_prune_start(part.path);
      EXPECT_EQ(start.options.lottery.has_value(), options.lottery.has_value());
      prune(start.network, data, start.options, {.path = part.path, .resume = true});
      EXPECT_EQ(layers_of_file(part.path / "model.safetensors"),
                layers_of_file(directory / "whole" / "model.safetensors"))
          << word(method) << " stopped after epoch " << stop_at;
    }
  }
}

TEST(Prune, RefusesWhatCannotBe) {
  const Data data = digits();
  const Network network = dense_network(data);
  const TestDirectory directory;
  const auto error = [&](const PruneOptions& options) {
    return error_of([&] { prune(network, data, options, {.path = directory / "none"}); });
  };
  EXPECT_NE(error(quick(PruneMethod::magnitude, 0.9999)).find("are the least"), std::string::npos);
  EXPECT_NE(error(quick(PruneMethod::lottery, 0.9999)).find("are the least"), std::string::npos);
  PruneOptions odd = quick(PruneMethod::lottery, 0.9);
  odd.lottery->rewind_epochs = 5;
  EXPECT_THROW(error(odd), std::invalid_argument);
  PruneOptions large = quick(PruneMethod::fssl, 0.9);
  large.rows = 4096;
  EXPECT_NE(error(large).find("calls of 4096 rows"), std::string::npos);
}

TrainOptions seedling() {
  TrainOptions options;
  options.network.neurons = {784, 8, 8, 10};
  options.network.sparsity = 0.9;
  options.evolution.redistribute = Redistribute::global;
  options.run.epochs = 2;
  options.evolution.update_every = 2;
  return options;
}

TEST(Grow, NeverExceedsItsBudgetAndEndsPruned) {
  const Data data = digits();
  const TestDirectory directory;
  Growth growth{.budget = 2500, .stages = 3, .deepen = 1, .prune = 0.2};
  std::vector<std::vector<Index>> shapes;
  growth.begin = [&](const std::string&, const std::vector<Index>& network, Offset connections) {
    shapes.push_back(network);
    EXPECT_LE(connections, 2500);
  };
  Offset most = 0;
  TrainObserver observer;
  observer.epoch = [&](const EpochReport& report) { most = std::max(most, report.connections); };
  const TrainRun run = grow(data, seedling(), growth, {.path = directory / "run"}, observer);
  EXPECT_LE(most, 2500);
  EXPECT_GE(most, 2450);
  EXPECT_LE(run.connections, 2000);
  EXPECT_GT(run.connections, 1800);
  ASSERT_EQ(shapes.size(), 5u);
  EXPECT_EQ(shapes[0].size(), 4u);
  EXPECT_EQ(shapes[1].size(), 5u);
  EXPECT_GT(shapes.back()[1], 12);
  EXPECT_EQ(layers_of_file(directory / "run" / "model.safetensors"), copied_layers(run.network));
}

TEST(Grow, GoesOnWhereItWasStopped) {
  const Data data = digits();
  const TestDirectory directory;
  const Growth growth{.budget = 2500, .stages = 2, .deepen = 1, .prune = 0.3};
  grow(data, seedling(), growth, {.path = directory / "whole"});
  for (const int stop_at : {1, 3, 4, 7}) {
    const std::filesystem::path path = directory / ("part" + std::to_string(stop_at));
    std::stop_source stop;
    int epochs = 0;
    TrainObserver observer;
    observer.epoch = [&](const EpochReport&) {
      if (++epochs == stop_at) stop.request_stop();
    };
    observer.stop = stop.get_token();
    EXPECT_THROW(grow(data, seedling(), growth, {.path = path}, observer), Cancelled);
    const GrowStart start = read_grow_start(path);
    EXPECT_EQ(start.growth.budget, 2500);
    grow(data, start.options, start.growth, {.path = path, .resume = true});
    EXPECT_EQ(layers_of_file(path / "model.safetensors"),
              layers_of_file(directory / "whole" / "model.safetensors"))
        << "stopped after epoch " << stop_at;
  }
}

TEST(Grow, RefusesWhatCannotBe) {
  const Data data = digits();
  const TestDirectory directory;
  const auto error = [&](const TrainOptions& options, const Growth& growth) {
    return error_of([&] { grow(data, options, growth, {.path = directory / "none"}); });
  };
  EXPECT_NE(error(seedling(), {.budget = 100}).find("more than the budget of 100"), std::string::npos);
  TrainOptions flat = seedling();
  flat.network.neurons = {784, 10};
  EXPECT_NE(error(flat, {.budget = 5000}).find("hidden layers"), std::string::npos);
  EXPECT_THROW(error(seedling(), {.budget = 5000, .stages = 0}), std::invalid_argument);
  EXPECT_THROW(grow(data, seedling(), {.budget = 5000}, {}), std::invalid_argument);
  TrainOptions curved = seedling();
  curved.network.activation = HiddenActivation::tanh;
  EXPECT_NE(error(curved, {.budget = 5000, .stages = 2, .deepen = 1}).find("tanh"), std::string::npos);
}

TEST(TimeModel, ComesBackFromItsFile) {
  const TestDirectory directory;
  const std::filesystem::path path = directory / "model.json";
  const TimeModel model = some_model();
  write_time_model(model, path);
  const TimeModel read = read_time_model(path);
  EXPECT_EQ(why_not_here(read), "");
  EXPECT_EQ(read.rows, model.rows);
  EXPECT_EQ(read.yardstick_seconds, model.yardstick_seconds);
  ASSERT_EQ(read.parts.size(), model.parts.size());
  for (std::size_t p = 0; p < read.parts.size(); ++p) {
    EXPECT_EQ(read.parts[p].name, model.parts[p].name);
    EXPECT_EQ(read.parts[p].seconds, model.parts[p].seconds);
  }
}

TEST(TimeModel, OfAnotherMachineIsTold) {
  TimeModel model = some_model();
  model.threads += 3;
  EXPECT_NE(why_not_here(model).find("threads"), std::string::npos);
  model.simd = "ABACUS";
  EXPECT_NE(why_not_here(model).find("ABACUS"), std::string::npos);
  model.processor = "Analytical Engine";
  EXPECT_NE(why_not_here(model).find("Analytical Engine"), std::string::npos);
}

TEST(TimeModel, OfAnotherMachineIsMeasuredAgain) {
  const Data data = digits();
  const TestDirectory directory;
  TimeModel model = some_model();
  model.processor = "Analytical Engine";
  PruneOptions options = quick(PruneMethod::fssl, 0.8);
  options.time_model = directory / "model.json";
  write_time_model(model, options.time_model);
  std::string remark;
  bool measures = false;
  std::stop_source stop;
  PruneObserver observer;
  observer.remark = [&](const std::string& text) { remark = text; };
  observer.other.progress = [&](const Progress& progress) {
    measures = progress.stage == "time model";
    stop.request_stop();  // to measure one takes long with sanitizers; the program's tests do
  };
  observer.other.stop = stop.get_token();
  EXPECT_THROW(prune(dense_network(data), data, options, {.path = directory / "run"}, observer), Cancelled);
  EXPECT_TRUE(measures);
  EXPECT_NE(remark.find("Analytical Engine"), std::string::npos);
  EXPECT_NE(remark.find("measured again"), std::string::npos);
}

TEST(TimeModel, RefusesWhatIsNone) {
  const TestDirectory directory;
  const std::filesystem::path path = directory / "model.json";
  const auto error = [&](const std::string& text) {
    write_file(path, text);
    return error_of([&] { (void)read_time_model(path); });
  };
  EXPECT_NE(error("{").find("is no time model"), std::string::npos);
  EXPECT_NE(error("[1, 2]").find("is no time model"), std::string::npos);
  EXPECT_NE(error(R"({"processor": 3})").find("is no time model"), std::string::npos);
  write_time_model(some_model(), path);
  std::string text = file_content(path);
  text.replace(text.find("\"call\": "), 8, "\"call\": -");
  EXPECT_NE(error(text).find("call is -1e-09 seconds"), std::string::npos) << error(text);
  EXPECT_NE(error_of([&] { (void)read_time_model(directory / "none"); }).find("none"), std::string::npos);
}

TEST(Footprint, CountsWhatThereIsAndTimesEveryBatch) {
  // Of four neurons two are the same and one is never read: they are parameters, but cost nothing to run.
  LayerArrays hidden{3, 4, {0, 1, 2, 3, 4}, {0, 0, 1, 2}, {1, 1, 2, 3}, {0, 0, 0, 0}};
  LayerArrays last{4, 2, {0, 2, 3}, {0, 1, 2}, {1, 1, 1}, {0, 0}};
  last.activation = Activation::identity;
  const Network network = make_network({hidden, last});
  const std::vector<float> values = {1, 0, 0, 0, 1, 0};
  const std::vector<Index> labels = {0, 1};
  const Footprint cost = footprint(network, make_data(values, labels, 3), 0.001);
  EXPECT_EQ(cost.parameters, 4 + 4 + 3 + 2);
  EXPECT_EQ(cost.neurons, (std::vector<Index>{2, 2, 2}));
  EXPECT_TRUE(std::isnan(cost.accuracy));  // there are no test rows
  EXPECT_GT(cost.memory_bytes, 0u);
  ASSERT_EQ(cost.timings.size(), 3u);
  for (const Footprint::Timing& timing : cost.timings) {
    EXPECT_GT(timing.fastest, 0);
    EXPECT_LE(timing.fastest, timing.seconds);
    EXPECT_LE(timing.seconds, timing.slowest);
  }
}

}  // namespace
}  // namespace filigree::internal
