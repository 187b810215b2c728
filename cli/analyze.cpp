// SPDX-License-Identifier: Apache-2.0
// filigree analyze: does sparsity pay here?
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/analyze.h"

namespace filigree::cli {

namespace {

struct AnalyzeArguments {
  Common common;
  ModelArguments model;
  AnalyzeOptions options;
  std::string plot;
};

std::string micros(double seconds) {
  return fmt::format("{:.3g}", 1e6 * seconds);
}

void print_network(const Analysis& analysis) {
  fmt::print("\n{:>8} {:>12} {:>12} {:>10}\n", "rows", "µs", "dense µs", "×");
  for (const BatchTiming& timing : analysis.network)
    fmt::print("{:>8} {:>11} {:>11} {:>10.2f}\n", with_commas(timing.rows), micros(timing.seconds),
               micros(timing.dense_seconds), timing.speed_up());
}

void print_layers(const Analysis& analysis) {
  const Index rows = analysis.layers.front().timings.back().rows;
  fmt::print("\n{} rows:\n{:>5} {:>13} {:>12} {:>8} {:>8} {:>9} {:>6} {:>8} {:>7}  {}\n", with_commas(rows),
             "layer", "shape", "connections", "sparse", "µs", "dense µs", "×", "compute", "memory",
             "structure");
  for (std::size_t l = 0; l < analysis.layers.size(); ++l) {
    const LayerAnalysis& layer = analysis.layers[l];
    const BatchTiming& timing = layer.timings.back();
    fmt::print("{:>5} {:>13} {:>12} {:>6.1f} % {:>8} {:>9} {:>6.2f} {:>6.0f} % {:>5.0f} %  {}\n", l + 1,
               fmt::format("{} → {}", layer.inputs, layer.outputs), with_commas(layer.connections),
               100 * layer.sparsity, micros(timing.seconds), micros(timing.dense_seconds), timing.speed_up(),
               100 * layer.compute_share, 100 * layer.memory_share, layer.structure);
  }
  fmt::print("\n");
}

// What would help, and the layers that it would help, counted from 1.
std::vector<std::pair<std::string, std::vector<std::size_t>>> advice_of(const Analysis& analysis) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> all;
  for (std::size_t l = 0; l < analysis.layers.size(); ++l)
    for (const std::string& advice : analysis.layers[l].advice) {
      auto found = std::ranges::find(all, advice, &decltype(all)::value_type::first);
      if (found == all.end()) found = all.insert(all.end(), {advice, {}});
      found->second.push_back(l + 1);
    }
  return all;
}

nlohmann::json timings_json(const std::vector<BatchTiming>& timings) {
  nlohmann::json all = nlohmann::json::array();
  for (const BatchTiming& timing : timings)
    all.push_back({{"rows", timing.rows},
                   {"seconds", timing.seconds},
                   {"dense_seconds", timing.dense_seconds},
                   {"speed_up", timing.speed_up()}});
  return all;
}

nlohmann::json analysis_json(const Analysis& analysis) {
  nlohmann::json layers = nlohmann::json::array();
  for (const LayerAnalysis& layer : analysis.layers)
    layers.push_back({{"inputs", layer.inputs},
                      {"outputs", layer.outputs},
                      {"connections", layer.connections},
                      {"sparsity", layer.sparsity},
                      {"structure", layer.structure},
                      {"kernel", layer.kernel},
                      {"timings", timings_json(layer.timings)},
                      {"compute_share", layer.compute_share},
                      {"memory_share", layer.memory_share},
                      {"advice", layer.advice}});
  return {{"summary", analysis.summary},
          {"processor", analysis.processor},
          {"threads", analysis.threads},
          {"dense_rate", analysis.dense_rate},
          {"copy_rate", analysis.copy_rate},
          {"network", timings_json(analysis.network)},
          {"layers", layers}};
}

int run_analyze(AnalyzeArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (!arguments.plot.empty()) arguments.plot = output_file(arguments.plot, {".svg"});
  const Network network = arguments.model.load();
  const Analysis analysis = [&] {
    ProgressDisplay display(common.quiet);
    return analyze(network, arguments.options, display.observer(context.stop));
  }();
  print_line(common, "network", shown(network.describe()));
  print_line(common, "answer",
             analysis.summary.empty()
                 ? "mixtures, exits and compiled networks are not compared with dense ones: "
                   "analyze the network before compile"
                 : analysis.summary);
  print_line(common, "machine",
             fmt::format("{}, {}: dense products {} multiplications and additions/s, copying {} bytes/s",
                         analysis.processor, threads_text(analysis.threads),
                         short_rate(analysis.dense_rate / 2), short_rate(analysis.copy_rate)));
  if (!common.quiet && !analysis.layers.empty()) {
    print_network(analysis);
    print_layers(analysis);
  }
  for (const auto& [advice, layers] : advice_of(analysis))
    print_line(common, fmt::format("layer{} {}", layers.size() == 1 ? "" : "s", fmt::join(layers, ", ")),
               advice);
  if (!arguments.plot.empty()) {
    plot_roofline(analysis, arguments.plot);
    print_line(common, "written", arguments.plot);
  }
  common.write_json(analysis_json(analysis));
  return 0;
}

}  // namespace

Run add_analyze(CLI::App& command) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  arguments->model.add_to(command)->required();
  command.add_option("--batch", arguments->options.batches, "numbers of rows to measure [1,32,512]")
      ->type_name("N,N,…")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--seconds", arguments->options.seconds, "how long each measurement takes, about")
      ->type_name("S")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 3600.0));
  command
      .add_option("--plot", arguments->plot,
                  "write a picture of what bounds each layer (a roofline) to this file")
      ->type_name("FILE.svg");
  add_note(command,
           "The dense network is the same one with its zeros filled in: products of full matrices by oneDNN, "
           "32-bit floats, "
           "on the same threads, calls of both in turns. compute: operations a second as a share of a large "
           "dense product's; "
           "memory: bytes a second of weights, inputs and outputs as a share of copying's, above 100 % where "
           "they come from "
           "the caches.");
  add_examples(command, {{"filigree analyze model.onnx",
                          "how much faster than dense a pruned network runs here, layer by layer"},
                         {"filigree analyze runs/first --batch 1,64 --plot roofline.svg",
                          "other numbers of rows, and a picture"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_analyze(*arguments, context); };
}

}  // namespace filigree::cli
