// filigree demo: the generated challenge, both engines, checked.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

int run(Common& common, const Context& context) {
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
      fmt::print("{:<10} {:>14} {:>12} {:>20} {:>12}\n", r.engine == Engine::plain ? "plain" : "compiled",
                 with_commas(r.compiled_connections), short_seconds(r.seconds),
                 short_rate(r.rate) + "connections/s",
                 with_commas(static_cast<std::int64_t>(r.categories.size())));
    fmt::print("\n");
    print_line(common, "answers", same ? "the same from both engines" : "DIFFERENT between the engines");
    print_line(
        common, "checked",
        fmt::format("{} rows against the double-precision reference: {}",
                    plain.checked_rows + compiled.checked_rows,
                    plain.mismatches.empty() && compiled.mismatches.empty() ? "the same" : "they differ"));
    print_line(common, "speed-up", fmt::format("{:.0f}× by compiling", plain.seconds / compiled.seconds));
    print_line(common, "machine",
               fmt::format("{}, {}, {}", plain.processor, threads_text(plain.threads), simd_name()));
    fmt::print("\nNext: filigree challenge --help, filigree bench challenge\n");
  }
  common.write_json({{"runs", results}, {"same", same}});
  return code;
}

}  // namespace

Run add_demo(CLI::App& app) {
  auto common = std::make_shared<Common>();
  CLI::App* command =
      app.add_subcommand("demo", "see it work: the generated 1024×120 challenge, both engines, checked");
  common->add_to(*command);
  return [common](const Context& context) { return run(*common, context); };
}

}  // namespace filigree::cli
