// filigree fetch: public data sets over the network.
#include "filigree/fetch.h"

#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
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
    print_line(
        arguments.common, file.already_there ? "there" : "fetched",
        fmt::format("{}{}: {} bytes", file.path.string(), file.already_there ? " is already there" : "",
                    with_commas(static_cast<std::int64_t>(file.bytes))));
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

Run add_fetch(CLI::App& app) {
  auto arguments = std::make_shared<FetchArguments>();
  CLI::App* command =
      app.add_subcommand("fetch", "download a public data set, resumed if it was cut off, and check it");
  command->add_option("name", arguments->name, "mnist, fashion or higgs (2.8 GB)")
      ->required()
      ->check(CLI::IsMember({"mnist", "fashion", "higgs"}));
  command->add_option("--out", arguments->options.directory, "where to put the files [data/NAME]")
      ->type_name("DIR");
  command
      ->add_option("--mirror", arguments->options.mirror,
                   "http(s) address of a directory to fetch from, instead of the built-in ones")
      ->type_name("URL");
  arguments->common.add_to(*command);
  return [arguments](const Context& context) { return run_fetch(*arguments, context); };
}

}  // namespace filigree::cli
