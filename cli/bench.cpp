// SPDX-License-Identifier: Apache-2.0
// filigree bench: measured tables with peers.
#include <fmt/format.h>

#include <memory>

#include "cli/bench_commands.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/bench.h"
#include "filigree/compress.h"

namespace filigree::cli {

nlohmann::json rows_json(const std::vector<BenchRow>& rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const BenchRow& row : rows)
    all.push_back({{"name", row.name},
                   {"seconds", row.seconds},
                   {"fastest", row.fastest},
                   {"slowest", row.slowest},
                   {"rate", row.rate},
                   {"right", row.right},
                   {"prepare_seconds", row.prepare_seconds}});
  return all;
}

namespace {

struct ChallengeBenchArguments {
  Common common;
  DeviceArguments device;
  ChallengeArguments challenge;
  ChallengeBenchOptions options;
  bool all = false, no_peers = false;
};

nlohmann::json bench_json(const ChallengeBench& bench) {
  return {{"neurons", bench.neurons},       {"layers", bench.layers},
          {"inputs", bench.inputs},         {"connections", bench.connections},
          {"threads", bench.threads},       {"dense_fma_rate", bench.dense_fma_rate},
          {"processor", bench.processor},   {"missing", bench.missing},
          {"categories", bench.categories}, {"verified", word(bench.verified)},
          {"mismatches", bench.mismatches}, {"peak_memory_bytes", bench.peak_memory_bytes},
          {"rows", rows_json(bench.rows)}};
}

void print_bench(const ChallengeBench& bench) {
  fmt::print("{}×{}, {} inputs, {}, {}\n", bench.neurons, bench.layers, with_commas(bench.inputs),
             threads_text(bench.threads), bench.processor);
  fmt::print("{:<14} {:>11} {:>11} {:>11} {:>22} {:>10}  {}\n", "", "median", "fastest", "slowest",
             "connections/s", "× first", "answer");
  for (const BenchRow& row : bench.rows)
    fmt::print("{:<14} {:>11} {:>11} {:>11} {:>22} {:>10.1f}  {}\n", row.name, short_seconds(row.seconds),
               short_seconds(row.fastest), short_seconds(row.slowest), short_rate(row.rate),
               bench.rows.front().seconds / row.seconds, row.right ? "right" : "WRONG");
  if (bench.dense_fma_rate > 0)
    fmt::print("for scale: dense GEMM (oneDNN) does {}multiply-adds/s here with {}\n",
               short_rate(bench.dense_fma_rate), threads_text(bench.threads));
  for (const std::string& peer : bench.missing) fmt::print("not built: {}\n", peer);
}

bool all_right(const ChallengeBench& bench) {
  return std::all_of(bench.rows.begin(), bench.rows.end(), [](const BenchRow& row) { return row.right; });
}

// The twelve official sizes next to what others published.
int run_all(const ChallengeBenchArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  const auto figure = [](double s) { return s > 0 ? fmt::format("{:.4g}", s) : std::string("–"); };
  nlohmann::json sizes = nlohmann::json::array();
  bool right = true;
  if (!common.quiet)
    fmt::print(
        "seconds                                  here                    |               published\n"
        "{:<11} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} | {:>8} {:>9} {:>9} {:>9}\n",
        "size", "categories", "GraphBLAS", "plain", "compiled", "compiling", "peak", "LAGraph", "Wang V100",
        "XY A6000", "SNICIT");
  for (const PublishedFigures& published : published_figures()) {
    const ChallengeInputs wanted = arguments.challenge.parsed();
    if (wanted.layers > 0 && published.layers > wanted.layers) continue;
    ChallengeBenchOptions options = arguments.options;
    options.source = wanted;
    options.source.neurons = published.neurons;
    options.source.layers = published.layers;
    const std::int64_t work = static_cast<std::int64_t>(published.neurons) * published.layers;
    options.peers = !arguments.no_peers && work <= std::int64_t{1024} * 120;  // a minute and more beyond
    options.plain = work <= std::int64_t{65536} * 120;                        // minutes and more beyond
    ChallengeBench bench;
    {
      ProgressDisplay display(common.quiet);
      bench = bench_challenge(options, display.observer(context.stop));
    }
    right = right && all_right(bench);
    const auto seconds = [&](std::string_view name) {
      for (const BenchRow& row : bench.rows)
        if (row.name == name) return row.seconds;
      return 0.0;
    };
    double compiling = 0;
    for (const BenchRow& row : bench.rows)
      if (row.name == "compiled") compiling = row.prepare_seconds;
    if (!common.quiet) {
      fmt::print("{:<11} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10} | {:>8} {:>9} {:>9} {:>9}\n",
                 fmt::format("{}×{}", published.neurons, published.layers),
                 fmt::format("{}{}", bench.categories, all_right(bench) ? "" : " WRONG"),
                 figure(seconds("graphblas")), figure(seconds("plain")), figure(seconds("compiled")),
                 figure(compiling), short_bytes(bench.peak_memory_bytes), figure(published.lagraph_cpu),
                 figure(published.wang_v100), figure(published.xy_a6000), figure(published.snicit_a6000));
      std::fflush(stdout);
    }
    sizes.push_back(bench_json(bench));
  }
  common.write_json({{"sizes", sizes}});
  return right ? 0 : 1;
}

int run_challenge_bench(ChallengeBenchArguments& arguments, const Context& context) {
  arguments.common.prepare();
  arguments.device.prepare();
  if (arguments.all) return run_all(arguments, context);
  ChallengeBenchOptions options = arguments.options;
  options.source = arguments.challenge.parsed();
  options.peers = !arguments.no_peers;
  ChallengeBench bench;
  {
    ProgressDisplay display(arguments.common.quiet);
    bench = bench_challenge(options, display.observer(context.stop));
  }
  if (!arguments.common.quiet) print_bench(bench);
  arguments.common.write_json(bench_json(bench));
  return all_right(bench) ? 0 : 1;
}

struct KernelArguments {
  Common common;
  KernelBenchOptions options;
  std::string time_model;
  Index rows = 512;
};

// What `filigree prune --method fssl` predicts times with.
nlohmann::json measure_time(const KernelArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  TimeModel model;
  {
    ProgressDisplay display(common.quiet);
    model = measure_time_model(arguments.rows, display.observer(context.stop));
  }
  write_time_model(model, arguments.time_model);
  nlohmann::json parts;
  if (!common.quiet)
    fmt::print("\nparts of a call of {} rows with {}\n{:<8} {:>10}\n", model.rows,
               threads_text(model.threads), "part", "ns");
  for (const TimeModel::Part& part : model.parts) {
    if (!common.quiet) fmt::print("{:<8} {:>10.3g}\n", part.name, 1e9 * part.seconds);
    parts[part.name] = part.seconds;
  }
  if (!common.quiet)
    fmt::print("their sum is {:.0f} % off (median) to {:.0f} % (worst) on the networks that were run\n",
               100 * model.error, 100 * model.worst_error);
  print_line(common, "written", arguments.time_model);
  return {{"rows", model.rows}, {"seconds", parts}, {"error", model.error}};
}

nlohmann::json print_products(const Common& common, const KernelBench& bench) {
  nlohmann::json rows = nlohmann::json::array();
  if (!common.quiet)
    fmt::print(
        "\nproducts of filigree/sparse.h on one core, dense matrices with 32 columns\n"
        "{:<16} {:>8} {:>10} {:>10} {:>14} {:>12} {:>16}\n",
        "product", "neurons", "entries", "time", "× copying once", "over Eigen", "over GraphBLAS");
  for (const ProductRow& row : bench.products) {
    const auto ratio = [](double value) { return value > 0 ? fmt::format("{:.2f}×", value) : "–"; };
    if (!common.quiet)
      fmt::print("{:<16} {:>8} {:>10} {:>10} {:>14} {:>12} {:>16}\n", row.name, row.neurons, row.entries,
                 short_seconds(row.seconds), ratio(row.times_copy), ratio(row.over_eigen),
                 ratio(row.over_graphblas));
    rows.push_back({{"name", fmt::format("{}/n={}", row.name, row.neurons)},
                    {"entries", row.entries},
                    {"seconds", row.seconds},
                    {"times_copy", row.times_copy},
                    {"over_eigen", row.over_eigen},
                    {"over_graphblas", row.over_graphblas}});
  }
  return rows;
}

int run_kernel_bench(KernelArguments& arguments, const Context& context) {
  arguments.common.prepare();
  if (!arguments.time_model.empty()) arguments.time_model = output_file(arguments.time_model);
  KernelBench bench;
  {
    ProgressDisplay display(arguments.common.quiet);
    bench = bench_kernels(arguments.options, display.observer(context.stop));
  }
  nlohmann::json rows = nlohmann::json::array();
  if (!arguments.common.quiet) {
    fmt::print("one core of {}, {}\n", bench.processor, bench.simd);
    if (bench.dense_fma_rate > 0)
      fmt::print("dense GEMM 1024³ (oneDNN): {}multiply-adds/s\n", short_rate(bench.dense_fma_rate));
    fmt::print("{:<26} {:>16} {:>22} {:>14}\n", "kernel", "connections/s", "slowest to fastest",
               "share of dense");
  }
  for (const KernelRow& row : bench.rows) {
    if (!arguments.common.quiet)
      fmt::print("{:<26} {:>16} {:>22} {:>13.0f}%\n", row.name, short_rate(row.connections_per_second),
                 fmt::format("{}– {}", short_rate(row.slowest), short_rate(row.fastest)),
                 100 * row.share_of_dense);
    rows.push_back({{"name", row.name},
                    {"connections_per_second", row.connections_per_second},
                    {"fastest", row.fastest},
                    {"slowest", row.slowest},
                    {"share_of_dense", row.share_of_dense}});
  }
  const nlohmann::json products = print_products(arguments.common, bench);
  const nlohmann::json time_model =
      arguments.time_model.empty() ? nlohmann::json() : measure_time(arguments, context);
  arguments.common.write_json({{"dense_fma_rate", bench.dense_fma_rate},
                               {"processor", bench.processor},
                               {"simd", bench.simd},
                               {"rows", rows},
                               {"products", products},
                               {"time_model", time_model}});
  return 0;
}

}  // namespace

Run add_bench(CLI::App& command) {
  command.require_subcommand(1);
  auto challenge = std::make_shared<ChallengeBenchArguments>();
  CLI::App* challenge_command =
      command.add_subcommand("challenge", "time both engines on the challenge, next to GraphBLAS and Eigen");
  challenge->challenge.add_network_to(*challenge_command, "number of layers [120, or as many as --data has]");
  challenge->challenge.add_images_to(*challenge_command);
  challenge_command
      ->add_option("--data", challenge->challenge.source.data,
                   "directory with the official files; without it, a network is generated")
      ->type_name("DIR");
  challenge_command
      ->add_option("--repeat", challenge->options.repeat,
                   "number of timed runs, of which the median is reported [5]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_bytes_option(*challenge_command, challenge->options.memory_limit, kChallengeMemoryHelp);
  challenge_command->add_flag("--all", challenge->all,
                              "run the twelve official sizes, up to --layers, next to published figures");
  challenge_command->add_flag("--no-peers", challenge->no_peers, "leave GraphBLAS and Eigen out");
  challenge->device.add_to(*challenge_command);
  challenge->common.add_to(*challenge_command);

  auto kernels = std::make_shared<KernelArguments>();
  CLI::App* kernels_command =
      command.add_subcommand("kernels",
                             "time the sparse product on random layers, on one core, next to a dense one, "
                             "and the products of filigree/sparse.h next to Eigen and GraphBLAS");
  kernels_command
      ->add_option("--neurons", kernels->options.neurons,
                   "numbers of neurons of the layers [256,1024,4096,16384]")
      ->delimiter(',')
      ->type_name("N,...")
      ->check(CLI::Range(1, 65536));
  kernels_command
      ->add_option("--fan-in", kernels->options.fan_in, "number of connections of each neuron [32]")
      ->type_name("N");
  kernels_command->add_option("--repeat", kernels->options.repeat, "number of timed rounds [9]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  kernels_command
      ->add_option(
          "--time-model", kernels->time_model,
          "measure the time model that prune --method fssl uses, on all threads, and write it to this file")
      ->type_name("FILE");
  kernels_command->add_option("--rows", kernels->rows, "number of rows of a call, for --time-model [512]")
      ->type_name("N")
      ->check(CLI::Range(32, 65536));
  kernels->common.add_to(*kernels_command);

  add_examples(*challenge_command,
               {{"filigree bench challenge", "time 1024 × 120 next to its peers"},
                {"filigree bench challenge --all --mnist DIR", "fill the table of all twelve sizes"}});
  add_examples(*kernels_command, {{"filigree bench kernels", "print connections per second at four sizes"},
                                  {"filigree bench kernels --time-model time-model.json",
                                   "measure the time model for prune --method fssl"}});
  const Run training = add_bench_training(command);
  const Run accuracy = add_bench_accuracy(command);
  const Run compression = add_bench_compression(command);
  const Run device = add_bench_device(command);
  const Run exported = add_bench_export(command);
  const Run activations = add_bench_activations(command);
  add_examples(command,
               {{"filigree bench kernels", "measure the speed of the sparse product on this machine"},
                {"filigree bench training --curve",
                 "find the sparsity from which sparse is faster than dense on this machine"}});
  return [=, &command](const Context& context) {
    if (challenge_command->parsed()) return run_challenge_bench(*challenge, context);
    if (kernels_command->parsed()) return run_kernel_bench(*kernels, context);
    if (command.got_subcommand("compression")) return compression(context);
    if (command.got_subcommand("device")) return device(context);
    if (command.got_subcommand("export")) return exported(context);
    if (command.got_subcommand("activations")) return activations(context);
    return command.got_subcommand("training") ? training(context) : accuracy(context);
  };
}

}  // namespace filigree::cli
