// SPDX-License-Identifier: Apache-2.0
// filigree info: what is in a model.
#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/help.h"

namespace filigree::cli {

namespace {

struct InfoArguments {
  Common common;
  ModelArguments model;
  bool all = false, devices = false;
};

constexpr Index kShownLayers = 12;

std::string activation_text(const LayerInfo& layer) {
  if (layer.activation.has_slope()) return fmt::format("leaky-relu {}", layer.activation.slope);
  if (layer.activation.saturates()) return fmt::format("relu ≤ {}", layer.activation.cap);
  return std::string(activation_name(layer.activation.kind));
}

int run_devices(const Common& common) {
  print_line(common, "cpu",
             fmt::format("{}, {}", processor_name(), threads_text(Session::current().threads())));
  nlohmann::json all = nlohmann::json::array();
  std::string why;
  try {
    const std::vector<DeviceInfo> devices = cuda_devices();
    for (std::size_t d = 0; d < devices.size(); ++d) {
      const DeviceInfo& device = devices[d];
      print_line(common, fmt::format("cuda {}", d),
                 fmt::format("{}, {} of {} free, {} multiprocessors, compute capability {}", device.name,
                             short_bytes(device.free_bytes), short_bytes(device.memory_bytes),
                             device.processors, device.capability));
      all.push_back({{"name", device.name},
                     {"memory_bytes", device.memory_bytes},
                     {"free_bytes", device.free_bytes},
                     {"multiprocessors", device.processors},
                     {"compute_capability", device.capability}});
    }
  } catch (const Error& error) {
    why = error.what();
    print_line(common, "cuda", fmt::format("none: {}", why));
  }
  common.write_json({{"processor", processor_name()},
                     {"threads", Session::current().threads()},
                     {"cuda", all},
                     {"why", why}});
  return 0;
}

int run_info(InfoArguments& arguments, const Context& context) {
  arguments.common.prepare();
  const Common& common = arguments.common;
  if (arguments.devices) return run_devices(common);
  if (!arguments.model.given()) {
    print_line(common, "filigree", version());
    print_line(common, "processor", processor_name());
    print_line(common, "SIMD", simd_name());
    print_line(common, "threads", std::to_string(Session::current().threads()));
    common.write_json({{"version", version()},
                       {"processor", processor_name()},
                       {"simd", simd_name()},
                       {"threads", Session::current().threads()}});
    return 0;
  }
  const Network network = arguments.model.load();
  Offset connections = 0;
  nlohmann::json layers = nlohmann::json::array();
  std::vector<LayerInfo> infos;
  for (Index l = 0; l < network.layers(); ++l) {
    if (context.stop.stop_requested()) throw Cancelled();
    const LayerInfo& layer = infos.emplace_back(layer_info(network, l));
    connections += layer.connections + layer.gate_connections;
    layers.push_back({{"inputs", layer.inputs},
                      {"outputs", layer.outputs},
                      {"connections", layer.connections},
                      {"distinct_neurons", layer.distinct_neurons},
                      {"unread_inputs", layer.unread_inputs},
                      {"smallest_fan_in", layer.smallest_fan_in},
                      {"largest_fan_in", layer.largest_fan_in},
                      {"smallest_weight", layer.smallest_weight},
                      {"largest_weight", layer.largest_weight},
                      {"activation", activation_name(layer.activation.kind)},
                      {"cap", layer.activation.cap},
                      {"slope", layer.activation.slope},
                      {"experts", layer.experts},
                      {"active_experts", layer.active_experts},
                      {"gate_connections", layer.gate_connections}});
  }
  nlohmann::json exits = nlohmann::json::array();
  for (const ExitInfo& exit : network.exits()) {
    exits.push_back({{"after", exit.after}, {"connections", exit.connections}});
    connections += exit.connections;
  }
  print_line(common, "network", network.describe());
  print_line(common, "shape",
             fmt::format("{} inputs, {} layers, {} outputs{}", with_commas(network.inputs()),
                         with_commas(network.layers()), with_commas(network.outputs()),
                         network.compiled() ? " (compiled: mapped onto fewer)" : ""));
  print_line(common, "connections", with_commas(connections));
  for (const ExitInfo& exit : network.exits())
    print_line(common, "exit",
               fmt::format("behind layer {}: {} connections", exit.after, with_commas(exit.connections)));
  for (std::size_t l = 0; l < infos.size(); ++l)
    if (infos[l].experts > 1)
      print_line(
          common, "mixture",
          fmt::format("layer {}: {} experts, {} for a row, a gate of {} connections", l + 1, infos[l].experts,
                      infos[l].active_experts, with_commas(infos[l].gate_connections)));
  const NetworkFacts& facts = network.facts();
  const std::string loss(facts.loss ? word(*facts.loss) : "");
  if (!facts.scaling.none()) print_line(common, "inputs", "are scaled by the model: give raw values");
  if (!loss.empty()) print_line(common, "loss", loss);
  if (!common.quiet) {
    fmt::print("\n{:>5} {:>8} {:>8} {:>12} {:>10} {:>10} {:>22} {:>15}\n", "layer", "inputs", "outputs",
               "connections", "fan-in", "distinct", "weights", "activation");
    const Index shown = arguments.all ? network.layers() : std::min(network.layers(), kShownLayers);
    for (Index l = 0; l < shown; ++l) {
      const LayerInfo& layer = infos[l];
      const std::string fan_in = layer.smallest_fan_in == layer.largest_fan_in
                                     ? std::to_string(layer.largest_fan_in)
                                     : fmt::format("{}–{}", layer.smallest_fan_in, layer.largest_fan_in);
      const std::string weights =
          layer.uniform ? fmt::format("{:.6g}", layer.largest_weight)
                        : fmt::format("{:.4g} … {:.4g}", layer.smallest_weight, layer.largest_weight);
      fmt::print("{:>5} {:>8} {:>8} {:>12} {:>10} {:>10} {:>22} {:>15}\n", l + 1, layer.inputs, layer.outputs,
                 with_commas(layer.connections), fan_in, layer.distinct_neurons, weights,
                 activation_text(layer));
    }
    if (shown < network.layers())
      fmt::print("  … {} more layers; --all shows them\n", network.layers() - shown);
  }
  common.write_json({{"network", network.describe()},
                     {"inputs", network.inputs()},
                     {"outputs", network.outputs()},
                     {"compiled", network.compiled()},
                     {"connections", connections},
                     {"scales_inputs", !facts.scaling.none()},
                     {"loss", loss},
                     {"output_names", facts.output_names},
                     {"exits", exits},
                     {"layers", layers}});
  return 0;
}

}  // namespace

Run add_info(CLI::App& command) {
  auto arguments = std::make_shared<InfoArguments>();
  arguments->model.add_to(command);
  command.add_flag("--all", arguments->all, "list every layer, not only the first twelve");
  command.add_flag("--devices", arguments->devices, "list the devices that --device can name");
  add_examples(command, {{"filigree info", "version, processor, SIMD instructions and threads"},
                         {"filigree info runs/first/model.safetensors",
                          "layers, connections and weights of a model"}});
  arguments->common.add_to(command);
  return [arguments](const Context& context) { return run_info(*arguments, context); };
}

}  // namespace filigree::cli
