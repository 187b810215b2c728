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
  if (what == "network") arguments.out = output_file(arguments.out, {".safetensors"});
  if (what == "images") arguments.out = output_file(arguments.out, {".tsv", ".tsv.gz"});
  const ChallengeInputs source = arguments.challenge.parsed();
  {
    ProgressDisplay display(arguments.common.quiet);
    write(source, display.observer(context.stop));
  }
  if (arguments.out != "/dev/stdout")
    print_line(arguments.common, "written", fmt::format("{} to {}", what, arguments.out));
  nlohmann::json result = {
      {"written", arguments.out}, {"what", what}, {"neurons", source.neurons}, {"seed", source.seed}};
  if (what != "images") result["layers"] = source.layers == 0 ? 120 : source.layers;
  arguments.common.write_json(result);
  return 0;
}

}  // namespace

Run add_generate(CLI::App& command) {
  command.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    return Subcommand{command.add_subcommand(name, help), std::make_shared<GenerateArguments>()};
  };
  const auto add_rest = [](const Subcommand& sub, const char* target, const char* size, const char* options,
                           const char* other) {
    sub.app->add_option("--out", sub.arguments->out, "where to write the result")
        ->required()
        ->type_name(target);
    const std::string name = sub.app->get_name();
    add_examples(*sub.app, {{fmt::format("filigree generate {} --out {}", name, target), size},
                            {fmt::format("filigree generate {} {} --out {}", name, options, target), other}});
    sub.arguments->common.add_to(*sub.app);
  };
  const Subcommand network = add("network", "write a RadiX-Net as a model file");
  network.arguments->challenge.add_network_to(*network.app, "number of layers [120]");
  add_rest(network, "FILE.safetensors", "make the default size, 1024 × 120",
           "--neurons 4096 --layers 480 --seed 2", "make another size with another random structure");
  const Subcommand images =
      add("images", "write challenge images as TSV, compressed if the name ends in .gz");
  images.arguments->challenge.add_size_to(*images.app, "number of pixels of each image [1024]",
                                          "seed of drawn digits [1]");
  images.arguments->challenge.add_images_to(*images.app);
  add_rest(images, "FILE.tsv", "draw 60000 digits of 1024 pixels", "--neurons 4096 --mnist DIR",
           "make the official images of 4096 pixels from MNIST");
  const Subcommand files =
      add("challenge-files", "write layers, images and reference categories in the official layout");
  files.arguments->challenge.add_network_to(*files.app, "number of layers [120]");
  files.arguments->challenge.add_images_to(*files.app);
  add_rest(files, "DIR", "make the default size, 1024 × 120", "--neurons 4096 --layers 480 --seed 2",
           "make another size with another random structure");
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
                          write_challenge_files(source, files.arguments->out,
                                                files.arguments->gzip ? FileForm::gzip : FileForm::plain,
                                                observer);
                        });
  };
}

}  // namespace filigree::cli
