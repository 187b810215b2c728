// SPDX-License-Identifier: Apache-2.0
// filigree fetch: public data sets over the network.
#include "filigree/fetch.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct FetchArguments {
  Common common;
  std::string name;
  FetchOptions options;
};

int run_fetch(FetchArguments& arguments, const Context& context) {
  arguments.common.prepare();
  FetchResult result;
  try {
    ProgressDisplay display(arguments.common.quiet);
    result = fetch(arguments.name, arguments.options, display.observer(context.stop));
  } catch (const Cancelled&) {
    throw Error("interrupted; the same command goes on from here");
  }
  nlohmann::json files = nlohmann::json::array();
  for (const FetchedFile& file : result.files) {
    print_line(arguments.common, file.already_there ? "there" : "fetched",
               fmt::format("{}{}: {} bytes", file.path.string(),
                           file.already_there ? " is already there" : "", with_commas(file.bytes)));
    print_line(arguments.common, "", "checked by " + file.checked);
    files.push_back({{"path", file.path.string()},
                     {"bytes", file.bytes},
                     {"already_there", file.already_there},
                     {"checked", file.checked}});
  }
  print_line(arguments.common, "use it", fmt::format("filigree train --data {}", result.source));
  arguments.common.write_json({{"name", arguments.name}, {"source", result.source}, {"files", files}});
  return 0;
}

}  // namespace

Run add_fetch(CLI::App& command) {
  auto arguments = std::make_shared<FetchArguments>();
  command.add_option("name", arguments->name, "data set; fashion is Fashion-MNIST, and higgs has 2.8 GB")
      ->required()
      ->check(CLI::IsMember({"mnist", "fashion", "higgs"}));
  command.add_option("--out", arguments->options.directory, "directory for the files [data/NAME]")
      ->type_name("DIR");
  command
      .add_option("--mirror", arguments->options.mirror,
                  "http or https address of the directory to fetch from [the data set's own]")
      ->type_name("URL");
  add_examples(command, {{"filigree fetch mnist", "download MNIST into data/mnist; run it again to resume"},
                         {"filigree fetch fashion --out images", "choose the directory"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_fetch(*arguments, context); };
}

}  // namespace filigree::cli
