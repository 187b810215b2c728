// SPDX-License-Identifier: Apache-2.0
// filigree generate: networks, images and whole challenge directories.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct GenerateArguments {
  Common common;
  ChallengeArguments challenge;
  std::string out;
  bool gzip = false;
};

struct Subcommand {
  CLI::App* app;
  std::shared_ptr<GenerateArguments> arguments;
};

int run_generate(GenerateArguments& arguments, const Context& context, const std::string& what,
                 const std::function<void(const ChallengeInputs&, const Observer&)>& write) {
  arguments.common.prepare();
  if (what != "challenge files") arguments.out = output_file(arguments.out);
  const ChallengeInputs source = arguments.challenge.parsed();
  {
    ProgressDisplay display(arguments.common.quiet);
    write(source, display.observer(context.stop));
  }
  if (arguments.out != "/dev/stdout")
    print_line(arguments.common, "written", fmt::format("{} to {}", what, arguments.out));
  arguments.common.write_json({{"written", arguments.out},
                               {"what", what},
                               {"neurons", source.neurons},
                               {"layers", source.layers == 0 ? 120 : source.layers},
                               {"seed", source.seed}});
  return 0;
}

}  // namespace

Run add_generate(CLI::App& command) {
  command.require_subcommand(1);
  const auto add = [&](const char* name, const char* help, const char* target) {
    auto arguments = std::make_shared<GenerateArguments>();
    CLI::App* sub = command.add_subcommand(name, help);
    arguments->challenge.add_network_to(*sub, "number of layers [120]");
    if (std::string_view(name) != "network") arguments->challenge.add_images_to(*sub);
    sub->add_option("--out", arguments->out, "where to write the result")->required()->type_name(target);
    add_examples(
        *sub,
        {{fmt::format("filigree generate {} --out {}", name, target), "make the default size, 1024 × 120"},
         {fmt::format("filigree generate {} --neurons 4096 --layers 480 --seed 2 --out {}", name, target),
          "make another size with another random structure"}});
    arguments->common.add_to(*sub);
    return Subcommand{sub, arguments};
  };
  const Subcommand network = add("network", "write a RadiX-Net as a model file", "FILE.safetensors");
  const Subcommand images =
      add("images", "write challenge images as TSV, compressed if the name ends in .gz", "FILE.tsv");
  const Subcommand files =
      add("challenge-files", "write layers, images and reference categories in the official layout", "DIR");
  files.app->add_flag("--gzip", files.arguments->gzip, "compress every file with gzip");

  add_examples(command,
               {{"filigree generate network --neurons 4096 --out radix.safetensors", "write a network"},
                {"filigree generate challenge-files --mnist DIR --out OUT",
                 "write a whole challenge, with images made from MNIST"}});
  return [=](const Context& context) {
    if (network.app->parsed())
      return run_generate(
          *network.arguments, context, "network",
          [&](const ChallengeInputs& source, const Observer& observer) {
            save(radix_net(source.neurons, source.layers == 0 ? 120 : source.layers, source.seed),
                 network.arguments->out, observer);
          });
    if (images.app->parsed())
      return run_generate(*images.arguments, context, "images",
                          [&](const ChallengeInputs& source, const Observer& observer) {
                            write_challenge_images(source, images.arguments->out, observer);
                          });
    return run_generate(*files.arguments, context, "challenge files",
                        [&](const ChallengeInputs& source, const Observer& observer) {
                          write_challenge_files(source, files.arguments->out, files.arguments->gzip,
                                                observer);
                        });
  };
}

}  // namespace filigree::cli
