// SPDX-License-Identifier: Apache-2.0
// filigree convert: networks from other programs' files and into them.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/progress.h"

namespace filigree::cli {

namespace {

struct ConvertArguments {
  Common common;
  std::string in, out;
  ImportOptions import;
  ExportOptions options;
  double cap = 0, last_cap = 0, slope = 0.01;
};

void print_import(const Common& common, const Imported& imported, bool kept) {
  print_line(common, "read", fmt::format("{}: {}", word(imported.form), imported.network.describe()));
  print_line(common, "shape",
             fmt::format("{} inputs, {} layers, {} outputs", with_commas(imported.network.inputs()),
                         with_commas(imported.network.layers()), with_commas(imported.network.outputs())));
  if (imported.stored > 0)
    print_line(common, "weights",
               imported.zeros == 0
                   ? fmt::format("{}, none of them zero", with_commas(imported.stored))
                   : fmt::format("{}, of which {} are zero and {}", with_commas(imported.stored),
                                 with_commas(imported.zeros),
                                 kept ? "stay connections" : "become absent (--keep-zeros keeps them)"));
  for (const std::string& note : imported.notes) print_line(common, "note", shown(note));
}

int run_convert(ConvertArguments& arguments, const Context&) {
  const Common& common = arguments.common;
  arguments.common.prepare();
  ImportOptions& import = arguments.import;
  for (const auto& [activation, cap] :
       {std::pair(&import.hidden, arguments.cap), {&import.last, arguments.last_cap}}) {
    if (activation->has_slope()) activation->slope = static_cast<float>(arguments.slope);
    if (cap == 0) continue;
    if (!activation->is(Activation::relu)) throw std::invalid_argument("a cap is for relu alone");
    activation->cap = static_cast<float>(cap);
  }
  const Imported imported = [&] {
    try {
      return import_network(arguments.in, import);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(fmt::format("{} (compile, info and others take --neurons)", error.what()));
    }
  }();
  print_import(common, imported, import.keep_zeros);
  const Network& network = imported.network;
  if (!arguments.out.empty()) {
    if (!network.exits().empty() && arguments.options.form != ModelForm::filigree)
      print_line(common, "exits", "belong to filigree's own files alone");
    export_network(network, arguments.out, arguments.options);
    print_line(common, "written", arguments.out);
  }
  common.write_json({{"form", word(imported.form)},
                     {"network", network.describe()},
                     {"inputs", network.inputs()},
                     {"outputs", network.outputs()},
                     {"layers", network.layers()},
                     {"weights", imported.stored},
                     {"zeros", imported.zeros},
                     {"task", word(network.task())},
                     {"notes", imported.notes},
                     {"written", arguments.out}});
  return 0;
}

CLI::Option* add_activation(CLI::App& command, const std::string& name, ActivationFunction& activation,
                            const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&activation](const std::string& text) {
            const auto* const found = std::ranges::find(kActivationNames, text);
            activation.kind = static_cast<Activation>(found - kActivationNames.begin());
          },
          help)
      ->check(CLI::IsMember(std::vector<std::string>(kActivationNames.begin(), kActivationNames.end())))
      ->type_name("WORD");
}

}  // namespace

Run add_convert(CLI::App& command) {
  auto arguments = std::make_shared<ConvertArguments>();
  ImportOptions& import = arguments->import;
  const char* const reading = "What the file does not say";
  const char* const writing = "How it is written";
  command.add_option("IN", arguments->in, "file or directory to read")->required();
  command.add_option("OUT", arguments->out,
                     "file or directory to write; without it, only what was read is reported");
  add_activation(command, "--activation", import.hidden,
                 "activation after every layer but the last, where the file has none [relu]")
      ->group(reading);
  add_activation(command, "--last", import.last,
                 "activation after the last layer, where the file has none [identity]")
      ->group(reading);
  command.add_option("--cap", arguments->cap, "largest output of the relu after every layer but the last")
      ->type_name("X")
      ->check(CLI::PositiveNumber)
      ->group(reading);
  command.add_option("--last-cap", arguments->last_cap, "largest output of the relu after the last layer")
      ->type_name("X")
      ->check(CLI::PositiveNumber)
      ->group(reading);
  command.add_option("--slope", arguments->slope, "slope below zero of leaky-relu")
      ->type_name("X")
      ->capture_default_str()
      ->group(reading);
  add_word_option<Loss>(
      command, "--loss", import.loss,
      "what the outputs mean, by the loss they were trained with: cross-entropy is for classes, "
      "squared for values",
      "LOSS")
      ->group(reading);
  add_word_option<Orientation>(
      command, "--orientation", import.orientation,
      "whether matrices have a row for each output (out-in) or for each input (in-out); auto: "
      "as their sizes say [auto]",
      "WORD")
      ->group(reading);
  command
      .add_flag("--bias-row", import.bias_row,
                "take the last row of each matrix (or column, for out-in) as biases")
      ->group(reading);
  command
      .add_option("--epsilon", import.epsilon,
                  "what is added to the variance in batch normalisation of a state dict")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber)
      ->group(reading);
  command
      .add_option(
          "--input-scale", import.input_scale,
          "what inputs are multiplied by first: 0.00392157 (1/255) for pixels that were trained on as 0 to 1")
      ->type_name("X")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->group(reading);
  command.add_flag("--keep-zeros", import.keep_zeros, "keep weights that are zero as connections")
      ->group(reading);
  add_word_option<ModelForm>(
      command, "--form", arguments->options.form,
      "form to write; without it by the name: .safetensors is filigree's own, .onnx is ONNX, and a "
      "name without ending is a directory of SciPy's npz files",
      "FORM")
      ->group(writing);
  command.add_option("--opset", arguments->options.opset, "operator set of ONNX")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(13, 25))
      ->group(writing);
  command.add_flag("--sparse", arguments->options.sparse, "write weights as sparse initialisers of ONNX")
      ->group(writing);
  add_examples(command, {{"filigree convert model.onnx model.safetensors",
                          "take over a network from PyTorch, Keras or scikit-learn by way of ONNX"},
                         {"filigree convert runs/first model.onnx",
                          "hand a trained network on: raw inputs, probabilities out"},
                         {"filigree convert state.safetensors --activation tanh net.safetensors",
                          "a state dict of PyTorch, which does not say what its activations are"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_convert(*arguments, context); };
}

}  // namespace filigree::cli
