// SPDX-License-Identifier: Apache-2.0
// filigree export: a network as a C++ program.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"
#include "filigree/export.h"

namespace filigree::cli {

namespace {

struct ExportArguments {
  Common common;
  ModelArguments model;
  std::string out, name = "predict";
};

int run_export(ExportArguments& arguments, const Context& context) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  if (arguments.out == "-") throw std::invalid_argument("--cpp needs a file: its test goes next to it");
  const std::string out = output_file(arguments.out, {".cpp", ".cc", ".cxx"});
  const Network network = arguments.model.load();
  const ExportedProgram program = [&] {
    ProgressDisplay display(common.quiet);
    return export_program(network, out, arguments.name, display.observer(context.stop));
  }();
  print_line(common, "network", network.describe());
  print_line(common, "connections", with_commas(program.connections));
  print_line(common, "layers", fmt::format("{}", fmt::join(words_of(program.forms), ", ")));
  if (!network.exits().empty())
    print_line(common, "exits", "are left out: the program takes every row to its end");
  print_line(common, "written",
             fmt::format("{}: extern \"C\" void {}(const float* inputs, float* outputs)",
                         program.source.string(), arguments.name));
  print_line(common, "", fmt::format("{}: compares it with the network", program.test.string()));
  common.write_json({{"source", program.source.string()},
                     {"test", program.test.string()},
                     {"connections", program.connections},
                     {"forms", words_of(program.forms)}});
  return 0;
}

}  // namespace

Run add_export(CLI::App& command) {
  auto arguments = std::make_shared<ExportArguments>();
  arguments->model.add_to(command)->required();
  command
      .add_option("--cpp", arguments->out,
                  "C++ file to write; a second file, FILE_test.cpp, compares it with the network")
      ->type_name("FILE.cpp")
      ->required();
  command.add_option("--name", arguments->name, "name of the exported function")
      ->type_name("NAME")
      ->capture_default_str();
  add_examples(command,
               {{"filigree export runs/first/model.safetensors --cpp net.cpp",
                 "then: c++ -O2 net_test.cpp && ./a.out, which includes net.cpp and checks it"},
                {"filigree export runs/first/model.safetensors --cpp digits.cpp --name classify_digit",
                 "choose the name of the function"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_export(*arguments, context); };
}

}  // namespace filigree::cli
