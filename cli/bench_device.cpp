// SPDX-License-Identifier: Apache-2.0
// filigree bench device: the challenge on a CUDA device, beside what a roofline predicts and others
// published.
#include <fmt/format.h>

#include <memory>

#include "cli/bench_commands.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/bench.h"

namespace filigree::cli {

namespace {

struct DeviceBenchArguments {
  Common common;
  DeviceArguments device;
  ChallengeArguments challenge;
  DeviceBenchOptions options;
  bool one_size = false;
};

std::string device_figure(double seconds) {
  return seconds > 0 ? fmt::format("{:.3g}", seconds) : std::string("–");
}

void print_predictions(const DeviceBench& bench, const PublishedFigures& published) {
  const std::string size = fmt::format("{}×{}", bench.neurons, bench.layers);
  const auto line = [&](const char* what, const std::vector<double>& predicted) {
    fmt::print("{:<11} {:<16}", size, what);
    for (const double seconds : predicted) fmt::print(" {:>9}", device_figure(seconds));
    fmt::print("\n");
  };
  line("fused, compiled", bench.predicted_compiled);
  line("fused", bench.predicted_plain);
  line("spmm", bench.predicted_spmm);
  line("tiled", bench.predicted_tiled);
  fmt::print(
      "{:<11} published: Gokhale T4 {}, Wang V100 {}, cuSPARSE A100 {}, UIUC A100 {}, SNIG 2080Ti {}, XY "
      "A6000 "
      "{}, SNICIT A6000 {}\n",
      size, device_figure(published.gokhale_t4), device_figure(published.wang_v100),
      device_figure(published.cusparse_a100), device_figure(published.uiuc_a100),
      device_figure(published.snig_2080ti), device_figure(published.xy_a6000),
      device_figure(published.snicit_a6000));
  fmt::print("{:<11} measured: compiled on this CPU {}, {} categories\n", size,
             device_figure(bench.cpu_seconds), with_commas(bench.categories));
  for (const BenchRow& row : bench.rows)
    fmt::print("{:<11} measured: {:<22} {:>9} ({} to {}), {}connections/s, {}\n", size, row.name,
               device_figure(row.seconds), device_figure(row.fastest), device_figure(row.slowest),
               short_rate(row.rate), row.right ? "right" : "WRONG");
  for (const std::string& failed : bench.failed) fmt::print("{:<11} not run: {}\n", size, failed);
  std::fflush(stdout);
}

int run_device_bench(DeviceBenchArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  arguments.device.prepare();
  const ChallengeInputs wanted = arguments.challenge.parsed();
  std::vector<PublishedFigures> sizes = published_figures();
  if (arguments.one_size) {
    const Index layers = wanted.layers == 0 ? 120 : wanted.layers;
    std::erase_if(
        sizes, [&](const PublishedFigures& p) { return p.neurons != wanted.neurons || p.layers != layers; });
    if (sizes.empty()) sizes.push_back({wanted.neurons, layers});
  }
  if (!common.quiet) {
    fmt::print(
        "seconds; what is not marked as measured or published is a PREDICTION: the least that arithmetic "
        "and\n"
        "traffic allow (docs/GPU.md)\n");
    fmt::print("{:<11} {:<16}", "size", "prediction for");
    for (const GpuFigures& gpu : gpu_figures()) fmt::print(" {:>9}", gpu.name);
    fmt::print("\n");
  }
  nlohmann::json all = nlohmann::json::array();
  std::string device;
  bool right = true;
  for (const PublishedFigures& published : sizes) {
    DeviceBenchOptions options = arguments.options;
    options.source = wanted;
    options.source.neurons = published.neurons;
    options.source.layers = published.layers;
    DeviceBench bench;
    {
      ProgressDisplay display(common.quiet);
      bench = bench_device(options, display.observer(context.stop));
    }
    right = right && bench.right;
    device = bench.device;
    if (!common.quiet) print_predictions(bench, published);
    nlohmann::json predictions = nlohmann::json::array();
    for (std::size_t g = 0; g < gpu_figures().size(); ++g)
      predictions.push_back(
          {{"gpu", gpu_figures()[g].name},
           {"compiled", g < bench.predicted_compiled.size() ? bench.predicted_compiled[g] : 0},
           {"plain", bench.predicted_plain[g]},
           {"spmm", bench.predicted_spmm[g]},
           {"tiled", bench.predicted_tiled[g]}});
    all.push_back({{"neurons", bench.neurons},
                   {"layers", bench.layers},
                   {"inputs", bench.inputs},
                   {"categories", bench.categories},
                   {"cpu_seconds", bench.cpu_seconds},
                   {"predicted", predictions},
                   {"measured", rows_json(bench.rows)},
                   {"failed", bench.failed}});
  }
  if (!common.quiet)
    fmt::print("{}\n", device.empty()
                           ? "nothing was measured on a GPU: --device cuda does, where there is one"
                           : "measured on " + device);
  common.write_json({{"device", device}, {"sizes", all}});
  return right ? 0 : 1;
}

}  // namespace

Run add_bench_device(CLI::App& bench) {
  auto arguments = std::make_shared<DeviceBenchArguments>();
  CLI::App* command = bench.add_subcommand(
      "device",
      "time the challenge on a GPU with every kernel, next to a roofline's prediction and published figures");
  arguments->challenge.add_network_to(
      *command, "number of layers; with --neurons, measures this size only [all twelve sizes]");
  arguments->challenge.add_images_to(*command);
  command
      ->add_option("--repeat", arguments->options.repeat,
                   "number of timed runs, of which the median is reported [5]")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_bytes_option(*command, arguments->options.memory_limit, kChallengeMemoryHelp);
  add_examples(*command,
               {{"filigree bench device", "print predictions and published figures of all sizes"},
                {"filigree bench device --device cuda --mnist DIR", "measure every kernel on a GPU"}});
  arguments->device.add_to(*command);
  arguments->common.add_to(*command);
  return [arguments, command](const Context& context) {
    arguments->one_size = command->count("--neurons") + command->count("--layers") > 0;
    return run_device_bench(*arguments, context);
  };
}

}  // namespace filigree::cli
