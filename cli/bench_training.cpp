// SPDX-License-Identifier: Apache-2.0
// filigree bench training, filigree bench accuracy: sparse training beside dense.
#include "cli/bench_commands.h"
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>

#include "cli/progress.h"
#include "filigree/bench.h"

namespace filigree::cli {

namespace {

struct TrainingArguments {
  Common common;
  TrainingBenchOptions options;
  bool curve = false, no_extras = false;
};

std::string sparsity_text(double sparsity) {
  return sparsity < 0 ? std::string("dense") : fmt::format("{:.4g} %", 100 * sparsity);
}

nlohmann::json or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}

nlohmann::json bench_json(const TrainingBench& bench) {
  nlohmann::json rows = nlohmann::json::array(), thread_rows = rows, memory = rows, evolution = rows,
                 wide = rows;
  for (const TrainingRow& row : bench.rows)
    rows.push_back({{"task", row.task},
                    {"sparsity", row.sparsity < 0 ? nlohmann::json("dense") : nlohmann::json(row.sparsity)},
                    {"nnz", row.connections},
                    {"milliseconds", row.milliseconds},
                    {"speedup", row.speedup},
                    {"slowest_speedup", row.slowest_speedup},
                    {"fastest_speedup", row.fastest_speedup}});
  for (const ThreadRow& row : bench.thread_rows)
    thread_rows.push_back({{"sparsity", row.sparsity}, {"threads", row.threads}, {"speedup", row.speedup}});
  for (const MemoryRow& row : bench.memory_rows)
    memory.push_back({{"sparsity", row.sparsity},
                      {"dense_bytes", row.dense_bytes},
                      {"parameter_bytes", row.parameter_bytes},
                      {"workspace_bytes", row.workspace_bytes}});
  for (const EvolutionRow& row : bench.evolution_rows)
    evolution.push_back({{"sparsity", row.sparsity}, {"share", row.share}});
  for (const WideRow& row : bench.wide_rows)
    wide.push_back({{"network", row.network},
                    {"sparsity", row.sparsity},
                    {"batch", row.batch},
                    {"nnz", row.connections},
                    {"milliseconds", row.milliseconds},
                    {"peak_memory_bytes", row.peak_memory_bytes}});
  return {{"dense_fma_rate", bench.dense_fma_rate},
          {"dense_step_fma_rate", bench.dense_step_fma_rate},
          {"rows", rows},
          {"inference_break_even", or_null(bench.inference_break_even)},
          {"step_break_even", or_null(bench.step_break_even)},
          {"threads", bench.threads},
          {"thread_rows", thread_rows},
          {"memory_512x512", memory},
          {"evolution", evolution},
          {"wide", wide},
          {"processor", bench.processor},
          {"simd", bench.simd}};
}

void print_task(const TrainingBench& bench, std::string_view task, const char* title) {
  fmt::print("\n{}\n{:<10} {:>12} {:>12} {:>9} {:>16}\n", title, "sparsity", "connections", "time", "× dense",
             "slowest–fastest");
  for (const TrainingRow& row : bench.rows) {
    if (row.task != task) continue;
    fmt::print("{:<10} {:>12} {:>12} {:>9.2f} {:>16}\n", sparsity_text(row.sparsity),
               with_commas(row.connections), short_seconds(row.milliseconds / 1e3), row.speedup,
               fmt::format("{:.2f}–{:.2f}", row.slowest_speedup, row.fastest_speedup));
  }
}

void print_break_even(const char* what, double sparsity) {
  if (std::isfinite(sparsity))
    fmt::print("{}: as fast as dense from {:.0f} % sparsity on\n", what, 100 * sparsity);
}

void print_bench(const TrainingBench& bench, bool curve) {
  fmt::print("{}, {}, {}\n", bench.processor, bench.simd, threads_text(bench.threads));
  fmt::print("dense GEMM 1024³ (oneDNN): {}multiply-adds/s; the dense training step as a whole: {}\n",
             short_rate(bench.dense_fma_rate), short_rate(bench.dense_step_fma_rate));
  print_task(bench, "inference", "inference, 784-512-512-512-512-512-10, all rows");
  if (curve) print_break_even("inference", bench.inference_break_even);
  print_task(bench, "step", "training step, 784-256-256-256-10, batch 512");
  if (curve) print_break_even("training step", bench.step_break_even);
  fmt::print("\nmemory of a 512×512 layer (weights, gradient, momentum)\n{:<10} {:>12} {:>12} {:>9} {:>24}\n",
             "sparsity", "dense", "sparse", "smaller", "with the passes' copies");
  for (const MemoryRow& row : bench.memory_rows) {
    const double dense = row.dense_bytes;
    fmt::print("{:<10} {:>12} {:>12} {:>8.1f}× {:>23.1f}×\n", sparsity_text(row.sparsity),
               with_commas(row.dense_bytes), with_commas(row.parameter_bytes), dense / row.parameter_bytes,
               dense / (row.parameter_bytes + row.workspace_bytes));
  }
  if (!bench.thread_rows.empty()) fmt::print("\n");
  for (const ThreadRow& row : bench.thread_rows)
    fmt::print("training step at {}: {} are {:.2f}× as fast as one\n", sparsity_text(row.sparsity),
               threads_text(row.threads), row.speedup);
  for (const EvolutionRow& row : bench.evolution_rows)
    fmt::print("evolution at {}: {:.1f} % of the training time\n", sparsity_text(row.sparsity),
               100 * row.share);
  for (const WideRow& row : bench.wide_rows) {
    std::string shape;
    for (const Index n : row.network) shape += fmt::format("{}{}", shape.empty() ? "" : "-", n);
    fmt::print("{} at {}, batch {}: {} connections, {} a step, {} at most\n", shape,
               sparsity_text(row.sparsity), row.batch, with_commas(row.connections),
               short_seconds(row.milliseconds / 1e3), short_bytes(row.peak_memory_bytes));
  }
}

int run_training_bench(TrainingArguments& arguments, const Context& context) {
  arguments.common.prepare();
  TrainingBenchOptions options = arguments.options;
  if (arguments.curve)
    options.sparsities = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.97, 0.99};
  options.extras = !arguments.no_extras;
  TrainingBench bench;
  {
    ProgressDisplay display(arguments.common.quiet);
    bench = bench_training(options, display.observer(context.stop));
  }
  if (!arguments.common.quiet) print_bench(bench, arguments.curve);
  arguments.common.write_json(bench_json(bench));
  return 0;
}

struct AccuracyArguments {
  Common common;
  AccuracyBenchOptions options;
  bool no_ertl = false, no_dense = false;
};

std::string percent_or_dash(double share) {
  return share > 0 ? fmt::format("{:.2f}", 100 * share) : std::string("–");
}

int run_accuracy_bench(AccuracyArguments& arguments, const Context& context) {
  arguments.common.prepare();
  AccuracyBenchOptions options = arguments.options;
  options.ertl = !arguments.no_ertl;
  options.dense = !arguments.no_dense;
  const bool quiet = arguments.common.quiet;
  if (!quiet)
    fmt::print(
        "test {} in %, last epoch, mean of {} seeds\n{:<14} {:<20} {:<20} {:>8} {:>11} {:>7} {:>15} "
        "{:>7} {:>9} "
        "{:>8}\n",
        options.metric == Watch::automatic ? "accuracy" : word(options.metric), options.seeds, "data",
        "network", "method", "sparsity", "connections", "mean", "lowest–highest", "goal", "published",
        "seconds");
  nlohmann::json rows = nlohmann::json::array();
  {
    ProgressDisplay display(quiet);
    const auto finished = [&](const AccuracyRow& row) {
      display.clear();
      const auto [low, high] = std::minmax_element(row.accuracy.begin(), row.accuracy.end());
      if (!quiet)
        fmt::print("{:<14} {:<20} {:<20} {:>8} {:>11} {:>7} {:>15} {:>7} {:>9} {:>8.0f}\n", row.data,
                   row.network, row.method, sparsity_text(row.sparsity), with_commas(row.connections),
                   percent_or_dash(row.mean), percent_or_dash(*low) + "–" + percent_or_dash(*high),
                   percent_or_dash(row.asked), percent_or_dash(row.published), row.seconds);
      std::fflush(stdout);
      rows.push_back({{"data", row.data},
                      {"network", row.network},
                      {"method", row.method},
                      {"sparsity", row.sparsity < 0 ? nlohmann::json("dense") : nlohmann::json(row.sparsity)},
                      {"nnz", row.connections},
                      {"accuracy", row.accuracy},
                      {"mean", row.mean},
                      {"asked", row.asked},
                      {"published", row.published},
                      {"seconds", row.seconds}});
    };
    bench_accuracy(options, finished, display.observer(context.stop));
  }
  arguments.common.write_json(
      {{"rows", rows},
       {"seeds", options.seeds},
       {"metric", options.metric == Watch::automatic ? "accuracy" : word(options.metric)}});
  return 0;
}

}  // namespace

Run add_bench_training(CLI::App& bench) {
  auto arguments = std::make_shared<TrainingArguments>();
  CLI::App* command = bench.add_subcommand(
      "training",
      "time inference (784-512×5-10) and training steps (784-256-256-256-10, batch 512) of sparse networks, "
      "interleaved with dense ones of the same shape");
  command->add_option("--sparsity", arguments->options.sparsities, "sparsities to measure [0.9,0.97,0.99]")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 0.9999))
      ->type_name("X,...");
  command->add_flag("--curve", arguments->curve,
                    "measure sparsities from 0 to 99 %, to see from where on sparse is faster");
  command->add_flag("--no-extras", arguments->no_extras,
                    "leave out the tables of threads, topology updates and wide layers");
  command->add_option("--inputs", arguments->options.inference_rows, "number of rows for inference [10000]")
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  command->add_option("--repeat", arguments->options.repeat, "number of timed rounds [25]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_examples(*command, {{"filigree bench training", "compare sparsities 0.9, 0.97 and 0.99 with dense"},
                          {"filigree bench training --curve --no-extras",
                           "find the break-even sparsity of this machine"}});
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_training_bench(*arguments, context); };
}

Run add_bench_accuracy(CLI::App& bench) {
  auto arguments = std::make_shared<AccuracyArguments>();
  CLI::App* command = bench.add_subcommand(
      "accuracy",
      "train the networks of the accuracy table, with several seeds; the test set is used once a run");
  AccuracyBenchOptions& options = arguments->options;
  command
      ->add_option("--mnist", options.mnist,
                   "directory with the idx files of MNIST; without it, MNIST is left out")
      ->type_name("DIR");
  command
      ->add_option(
          "--fashion", options.fashion,
          "directory with the idx files of Fashion-MNIST; none leaves it out [that of Debian's package]")
      ->type_name("DIR");
  command
      ->add_option("--higgs", options.higgs,
                   "CSV file of HIGGS with the label first; without it, HIGGS is left out")
      ->type_name("FILE");
  command->add_option("--seeds", options.seeds, "number of runs for each row of the table [3]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_option("--epochs", options.epochs, "number of epochs of each run [that of the preset]")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  add_word_option<Watch>(
      *command, "--metric", options.metric,
      "metric of the test rows that is shown: accuracy, roc_auc or another of eval's [auto]", "METRIC");
  command->add_flag("--no-ertl", arguments->no_ertl, "leave Ertl's method out");
  command->add_flag("--no-dense", arguments->no_dense, "leave dense networks out");
  add_examples(
      *command,
      {{"filigree bench accuracy --seeds 1 --epochs 20", "take a quick look, on Fashion-MNIST"},
       {"filigree bench accuracy --mnist data/mnist",
        "print the MNIST and Fashion-MNIST rows of docs/measurements/accuracy.md; this takes hours"}});
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_accuracy_bench(*arguments, context); };
}

}  // namespace filigree::cli
