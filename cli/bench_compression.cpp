// SPDX-License-Identifier: Apache-2.0
// filigree bench compression, export, activations: networks made smaller, and run a few rows at a time.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/bench_commands.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "cli/train_view.h"
#include "filigree/bench.h"

namespace filigree::cli {

namespace {

struct ExportBenchArguments {
  Common common;
  ModelArguments model;
  DataArguments data;
  int repeat = 200;
};

int run_export_bench(ExportBenchArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  const Network network = arguments.model.load();
  ExportBench bench;
  {
    ProgressDisplay display(common.quiet);
    std::optional<Data> data;
    if (!arguments.data.options.source.empty())
      data = load_data(arguments.data.over({}), display.observer(context.stop));
    bench = bench_export(network, data, arguments.repeat, display.observer(context.stop));
  }
  print_line(common, "network",
             fmt::format("{}, {} connections", network.describe(), with_commas(bench.connections)));
  print_line(common, "program",
             fmt::format("{}; {} by c++ -O2, {}", fmt::join(words_of(bench.forms), ", "),
                         short_seconds(bench.compile_seconds), short_bytes(bench.program_bytes)));
  print_line(common, "difference", fmt::format("{:.1e} of the largest output", bench.largest_difference));
  if (!common.quiet)
    fmt::print("{:>6} {:>12} {:>12} {:>14}  {}\n", "rows", "library", "program", "program is",
               "speed-up from–to");
  nlohmann::json rows = nlohmann::json::array();
  for (const ExportBench::Row& row : bench.rows) {
    if (!common.quiet)
      fmt::print("{:>6} {:>12} {:>12} {:>14}  {:.2f}–{:.2f}\n", row.rows, short_seconds(row.library_seconds),
                 short_seconds(row.program_seconds), factor(row.speedup, 1), row.slowest_speedup,
                 row.fastest_speedup);
    rows.push_back({{"rows", row.rows},
                    {"library_seconds", row.library_seconds},
                    {"program_seconds", row.program_seconds},
                    {"speedup", row.speedup}});
  }
  common.write_json({{"forms", words_of(bench.forms)},
                     {"connections", bench.connections},
                     {"compile_seconds", bench.compile_seconds},
                     {"program_bytes", bench.program_bytes},
                     {"largest_difference", bench.largest_difference},
                     {"rows", rows},
                     {"processor", processor_name()}});
  return 0;
}

struct ActivationArguments {
  Common common;
  ModelArguments model;
  DataArguments data;
  int repeat = 500;
};

int run_activation_bench(ActivationArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  const Network network = arguments.model.load();
  ActivationBench bench;
  {
    ProgressDisplay display(common.quiet);
    const Data data = load_data(arguments.data.over({}), display.observer(context.stop));
    bench = bench_activations(network, data, arguments.repeat, display.observer(context.stop));
  }
  nlohmann::json layers = nlohmann::json::array(), rows = nlohmann::json::array();
  if (!common.quiet)
    fmt::print("{:<8} {:>8} {:>10} {:>14} {:>10}\n", "hidden", "neurons", "zero", "idle panels", "never on");
  for (const ActivationBench::LayerRow& layer : bench.layers) {
    layers.push_back(
        {{"neurons", layer.neurons}, {"zero", layer.zero}, {"idle", layer.idle}, {"never", layer.never}});
    if (!common.quiet)
      fmt::print("{:<8} {:>8} {:>8.1f} % {:>12.1f} % {:>8.1f} %\n", layers.size(), layer.neurons,
                 100 * layer.zero, 100 * layer.idle, 100 * layer.never);
  }
  if (!common.quiet)
    fmt::print("\n{:<6} {:>12} {:>12} {:>14} {:>12}  {}\n", "rows", "in panels", "by row", "zeros skipped",
               "by skipping", "range");
  for (const ActivationBench::Row& row : bench.rows) {
    rows.push_back({{"rows", row.rows},
                    {"panel_seconds", row.panel_seconds},
                    {"whole_seconds", row.whole_seconds},
                    {"skip_seconds", row.skip_seconds},
                    {"speedup", row.speedup}});
    if (!common.quiet)
      fmt::print("{:<6} {:>12} {:>12} {:>14} {:>11.2f}x  {:.2f}–{:.2f}\n", row.rows,
                 short_seconds(row.panel_seconds), short_seconds(row.whole_seconds),
                 short_seconds(row.skip_seconds), row.speedup, row.slowest_speedup, row.fastest_speedup);
  }
  print_line(common, "plans", fmt::format("take up to {} rows one by one here", bench.break_even));
  common.write_json({{"layers", layers},
                     {"rows", rows},
                     {"break_even", bench.break_even},
                     {"processor", processor_name()}});
  return 0;
}

struct CompressionArguments {
  Common common;
  DataArguments data;
  CompressionBenchOptions options;
};

int run_compression_bench(CompressionArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  CompressionBenchOptions options = arguments.options;
  options.data = arguments.data.over({});
  std::vector<CompressionRow> rows;
  {
    ProgressDisplay display(common.quiet);
    rows = bench_compression(
        options,
        [&](const std::string& what) {
          if (!common.quiet) fmt::print(stderr, "{} …\n", what);
        },
        display.observer(context.stop));
  }
  if (!common.quiet)
    fmt::print("{:<20} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "method", "weights", "file",
               "load", "accuracy", "1 row", "32 rows", "512 rows", "× magn.");
  nlohmann::json list = nlohmann::json::array();
  for (const CompressionRow& row : rows) {
    if (!common.quiet) {
      fmt::print("{:<20} {:>9} {:>10} {:>9} {:>7.2f} % {:>9} {:>9} {:>9} {:>9.2f}\n", row.method,
                 with_commas(row.weights), short_bytes(row.file_bytes), short_seconds(row.load_seconds),
                 100 * row.accuracy, short_seconds(row.seconds[0]), short_seconds(row.seconds[1]),
                 short_seconds(row.seconds[2]), row.speedups[2]);
      if (row.method != "dense") fmt::print("  {}\n", shape_text(row.neurons));
      if (row.predicted_seconds > 0)
        fmt::print("  time model: {} predicted, {:+.0f} %\n", short_seconds(row.predicted_seconds),
                   100 * row.prediction_error);
    }
    list.push_back({{"method", row.method},
                    {"target", row.target},
                    {"weights", row.weights},
                    {"neurons", row.neurons},
                    {"file_bytes", row.file_bytes},
                    {"load_seconds", row.load_seconds},
                    {"accuracy", row.accuracy},
                    {"seconds", row.seconds},
                    {"speedups", row.speedups},
                    {"predicted_seconds", row.predicted_seconds},
                    {"prediction_error", row.prediction_error},
                    {"training_seconds", row.training_seconds}});
  }
  common.write_json(
      {{"rows", list}, {"threads", Session::current().threads()}, {"processor", processor_name()}});
  return 0;
}

}  // namespace

Run add_bench_compression(CLI::App& app) {
  auto arguments = std::make_shared<CompressionArguments>();
  CLI::App* command = app.add_subcommand(
      "compression", "prune a dense network by every method and time the results, interleaved");
  arguments->data.add_to(*command)->required();
  CompressionBenchOptions& options = arguments->options;
  command->add_option("--epochs", options.epochs, "number of epochs of the dense network, and of each method")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1, 100000));
  command->add_option("--target", options.target, "share of the weights that fssl removes")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999));
  command
      ->add_option("--sparse-target", options.sparse_target,
                   "share of the weights that magnitude and lottery remove, where they are compared with "
                   "sparse training")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.999));
  command
      ->add_option("--input-dropout", options.input_dropout,
                   "share of the inputs that is dropped at random in all training")
      ->type_name("SHARE")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9));
  command->add_option("--seed", options.seed, "seed of all random choices [1]")
      ->type_name("N")
      ->check(whole_number());
  add_examples(*command, {{"filigree bench compression --data fashion", "compare all methods on one network"},
                          {"filigree bench compression --data digits --epochs 5",
                           "take a quick look, without any data"}});
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_compression_bench(*arguments, context); };
}

Run add_bench_export(CLI::App& app) {
  auto exported = std::make_shared<ExportBenchArguments>();
  CLI::App* export_command =
      app.add_subcommand("export", "time a network that was exported as C++, next to the library");
  exported->model.add_to(*export_command)->required();
  exported->data.add_to(*export_command);
  export_command->add_option("--repeat", exported->repeat, "number of timed rounds [200]")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  add_examples(*export_command,
               {{"filigree bench export runs/first/model.safetensors", "time both on random rows"},
                {"filigree bench export runs/first/model.safetensors --data fashion",
                 "time both on rows of a data set"}});
  exported->common.add_to(*export_command);
  return [exported](const Context& context) { return run_export_bench(*exported, context); };
}

Run add_bench_activations(CLI::App& app) {
  auto activations = std::make_shared<ActivationArguments>();
  CLI::App* activations_command = app.add_subcommand(
      "activations", "measure how many activations are zero in each layer, and what skipping them gains");
  activations->model.add_to(*activations_command)->required();
  activations->data.add_to(*activations_command)->required();
  activations_command->add_option("--repeat", activations->repeat, "number of timed rounds [500]")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  add_examples(*activations_command,
               {{"filigree bench activations runs/first/model.safetensors --data fashion",
                 "see where zeros are and what skipping them saves"},
                {"filigree bench activations runs/first/model.safetensors --data fashion --threads 1",
                 "do the same on one thread"}});
  activations->common.add_to(*activations_command);
  return [activations](const Context& context) { return run_activation_bench(*activations, context); };
}

}  // namespace filigree::cli
