// SPDX-License-Identifier: Apache-2.0
// filigree demo: the generated challenge with both engines, checked; then a sparse network is trained.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/train.h"

namespace filigree::cli {

namespace {

// A curve in one line, lowest to highest.
std::string curve(const std::vector<EpochReport>& epochs) {
  constexpr const char* kSteps[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  double low = 1, high = 0;
  for (const EpochReport& e : epochs) {
    low = std::min(low, e.test_score);
    high = std::max(high, e.test_score);
  }
  std::string line;
  for (const EpochReport& e : epochs)
    line += kSteps[high > low ? static_cast<int>(7 * (e.test_score - low) / (high - low)) : 7];
  return line;
}

// Drawn digits, 97 % of the weights never there.
nlohmann::json run_training(const Common& common, const Context& context) {
  if (!common.quiet)
    fmt::print(
        "\nSparse training: 97 % of the weights do not exist at any time; every 40 steps the smallest of "
        "the\n"
        "others go and new connections grow where the gradient is largest. Data: drawn digits.\n\n");
  DataOptions source;
  source.source = "digits:12000";
  TrainOptions options = preset_options("fast");
  options.network.sparsity = 0.97;
  options.evolution.update_every = 40;
  options.run.epochs = 12;
  ProgressDisplay display(common.quiet);
  const Observer observer = display.observer(context.stop);
  const Data data = load_data(source, observer);
  TrainObserver watch;
  watch.stop = context.stop;
  watch.step = [&](const StepReport& r) { observer.report("training", r.epoch - 1, r.epochs, "epochs"); };
  RunDirectory nowhere;
  nowhere.test_every_epoch = true;  // for the curve
  const TrainRun trained = train(data, options, nowhere, watch);
  display.clear();
  print_line(common, "data", data.describe());
  std::string shape = std::to_string(trained.layers.front().inputs);
  for (const LayerReport& layer : trained.layers) shape += fmt::format("-{}", layer.outputs);
  print_line(common, "network", fmt::format("{}: {} connections", shape, with_commas(trained.connections)));
  print_line(common, "accuracy",
             fmt::format("{}  {:.1f} % after one epoch, {:.1f} % after {}, on rows never trained on",
                         curve(trained.epochs), 100 * trained.epochs.front().test_score,
                         100 * trained.test_score, trained.epochs.size()));
  print_line(common, "time", short_seconds(trained.seconds));
  return {{"test_accuracy", trained.test_score}, {"nnz", trained.connections}, {"seconds", trained.seconds}};
}

int run_demo(Common& common, const Context& context) {
  common.prepare();
  if (!common.quiet)
    fmt::print(
        "The Sparse DNN Graph Challenge at 1024 neurons × 120 layers: a generated network classifies 60,000\n"
        "drawn digits, twice. The plain engine computes every connection of every row that is still alive;\n"
        "the compiled one first rewrites the network exactly. Both answers are checked.\n\n");
  nlohmann::json results = nlohmann::json::array();
  ChallengeResult found[2];
  int code = 0;
  for (const Engine engine : {Engine::plain, Engine::compiled}) {
    ChallengeOptions options;
    options.engine = engine;
    options.repeat = 3;
    ProgressDisplay display(common.quiet);
    ChallengeResult& result = found[engine == Engine::compiled];
    result = run_challenge(options, display.observer(context.stop));
    code = std::max(code, report_mismatches(result));
    results.push_back(to_json(result));
  }
  const auto& [plain, compiled] = found;
  const bool same = plain.categories == compiled.categories;
  if (!same) code = 1;
  if (!common.quiet) {
    fmt::print("{:<10} {:>14} {:>12} {:>20} {:>12}\n", "engine", "connections", "time", "rate", "categories");
    for (const ChallengeResult& r : found)
      fmt::print("{:<10} {:>14} {:>12} {:>20} {:>12}\n", word(r.engine), with_commas(r.compiled_connections),
                 short_seconds(r.seconds), short_rate(r.rate) + "connections/s",
                 with_commas(r.categories.size()));
    fmt::print("\n");
    print_line(common, "answers", same ? "the same from both engines" : "DIFFERENT between the engines");
    print_line(
        common, "checked",
        fmt::format("{} rows against the double-precision reference: {}",
                    plain.checked_rows + compiled.checked_rows,
                    plain.mismatches.empty() && compiled.mismatches.empty() ? "the same" : "they differ"));
    print_line(common, "speed-up",
               fmt::format("{:.0f}× by compiling, which took {} once", plain.seconds / compiled.seconds,
                           short_seconds(compiled.compile_seconds)));
    print_line(common, "machine",
               fmt::format("{}, {}, {}", plain.processor, threads_text(plain.threads), simd_name()));
  }
  const nlohmann::json training = run_training(common, context);
  if (!common.quiet)
    fmt::print("\nNext: filigree train --data fashion --sparsity 0.97, filigree challenge --help\n");
  common.write_json({{"runs", results}, {"same", same}, {"training", training}});
  return code;
}

}  // namespace

Run add_demo(CLI::App& command) {
  auto common = std::make_shared<Common>();
  add_examples(command, {{"filigree demo", "see what it does, in a few seconds and without data"},
                         {"filigree demo --json demo.json", "write the figures to a file as well"}});
  common->add_to(command);
  return [common](const Context& context) { return run_demo(*common, context); };
}

}  // namespace filigree::cli
