// SPDX-License-Identifier: Apache-2.0
// filigree compile: the exact passes, from model file to model file.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct CompileArguments {
  Common common;
  ModelArguments model;
  std::string out;
};

int run_compile(CompileArguments& arguments, const Context& context) {
  arguments.common.prepare();
  if (!arguments.out.empty()) arguments.out = output_file(arguments.out, {".safetensors"});
  const Network network = arguments.model.load();
  const CompileResult result = [&] {
    ProgressDisplay display(arguments.common.quiet);
    return compile_network(network, display.observer(context.stop));
  }();
  nlohmann::json passes = nlohmann::json::array();
  for (const CompilePass& pass : result.passes) {
    print_line(arguments.common, "pass",
               fmt::format("{}: {} neurons, {} connections removed", pass.name,
                           with_commas(pass.neurons_removed), with_commas(pass.connections_removed)));
    passes.push_back({{"name", pass.name},
                      {"neurons_removed", pass.neurons_removed},
                      {"connections_removed", pass.connections_removed}});
  }
  print_line(arguments.common, "connections",
             fmt::format("{} → {} ({:.2f} %)", with_commas(result.connections_before),
                         with_commas(result.connections_after),
                         result.connections_before == 0
                             ? 100.0
                             : 100.0 * result.connections_after / result.connections_before));
  if (!network.exits().empty())
    print_line(arguments.common, "exits", "are left out: a compiled network takes every row to its end");
  if (!arguments.out.empty()) {
    save(result.network, arguments.out);
    print_line(arguments.common, "written", arguments.out);
  }
  arguments.common.write_json({{"connections_before", result.connections_before},
                               {"connections_after", result.connections_after},
                               {"passes", passes}});
  return 0;
}

}  // namespace

Run add_compile(CLI::App& command) {
  auto arguments = std::make_shared<CompileArguments>();
  arguments->model.add_to(command)->required();
  command
      .add_option("--out", arguments->out,
                  "write the compiled model to this file; without it, only the report is printed")
      ->type_name("FILE");
  add_examples(command, {{"filigree compile runs/first/model.safetensors --out small.safetensors",
                          "write an equivalent network with fewer neurons and connections"},
                         {"filigree compile DIR --neurons 1024",
                          "report what the passes remove from official files"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_compile(*arguments, context); };
}

}  // namespace filigree::cli
