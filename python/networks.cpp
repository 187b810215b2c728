// SPDX-License-Identifier: Apache-2.0
// Networks, and plans that run them.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "calls.h"

namespace filigree::python {

using namespace nb::literals;

namespace {

nb::object layer_array(const LayerView& view, const void* data, std::size_t size, nb::dlpack::dtype type) {
  auto* kept = new std::shared_ptr<const void>(view.kept);
  const nb::capsule owner(
      kept, [](void* held) noexcept { delete static_cast<std::shared_ptr<const void>*>(held); });
  const std::size_t shape[1] = {size};
  return nb::cast(nb::ndarray<nb::numpy, nb::ro>(const_cast<void*>(data), 1, shape, owner, nullptr, type));
}

nb::dict layer_dict(const LayerView& view) {
  nb::dict layer;
  layer["inputs"] = view.inputs;
  layer["outputs"] = view.outputs;
  layer["row_begin"] = layer_array(view, view.row_begin.data(), view.row_begin.size(), nb::dtype<Offset>());
  layer["column"] = layer_array(view, view.column.data(), view.column.size(), nb::dtype<Index>());
  layer["value"] = layer_array(view, view.value.data(), view.value.size(), nb::dtype<float>());
  layer["bias"] = layer_array(view, view.bias.data(), view.bias.size(), nb::dtype<float>());
  layer["activation"] = std::string(activation_name(view.activation.kind));
  layer["cap"] = view.activation.cap;
  layer["slope"] = view.activation.slope;
  layer["experts"] = view.experts;
  return layer;
}

Activation activation_called(const std::string& name) {
  for (std::size_t a = 0; a < kActivationNames.size(); ++a)
    if (kActivationNames[a] == name) return static_cast<Activation>(a);
  throw std::invalid_argument("'" + name + "' is no activation; there are " + listed(kActivationNames));
}

NetworkFacts facts_of(const std::optional<std::string>& loss, std::vector<float> mean,
                      std::vector<float> scale, std::vector<std::string> input_names,
                      std::vector<std::string> output_names) {
  NetworkFacts facts;
  facts.scaling = {std::move(mean), std::move(scale)};
  facts.input_names = std::move(input_names);
  facts.output_names = std::move(output_names);
  if (loss) facts.loss = word_called<Loss>(*loss, "loss");
  return facts;
}

}  // namespace

void bind_networks(nb::module_& m) {
  nb::class_<Network>(m, "Network")
      // A network of any form, what was taken for granted, weights that were stored, and zeros among them.
      .def_static(
          "import_file",
          [](const std::filesystem::path& path, const std::string& activation, float cap, float slope,
             const std::string& last, const std::optional<std::string>& loss, const std::string& orientation,
             bool bias_row, double epsilon, double input_scale, bool keep_zeros) {
            ImportOptions options;
            options.hidden = {activation_called(activation), cap, slope};
            options.last = {activation_called(last)};
            if (loss) options.loss = word_called<Loss>(*loss, "loss");
            options.orientation = word_called<Orientation>(orientation, "orientation");
            options.bias_row = bias_row;
            options.epsilon = epsilon;
            options.input_scale = input_scale;
            options.keep_zeros = keep_zeros;
            std::optional<Imported> imported;
            {
              const Unlocked unlocked;
              imported.emplace(import_network(path, options));
            }
            return nb::make_tuple(imported->network, imported->notes, imported->stored, imported->zeros);
          },
          "path"_a, "activation"_a, "cap"_a, "slope"_a, "last"_a, "loss"_a, "orientation"_a, "bias_row"_a,
          "epsilon"_a, "input_scale"_a, "keep_zeros"_a)
      .def_static("from_bytes",
                  [](const nb::bytes& bytes) {
                    const std::span<const std::byte> view = bytes_of(bytes);
                    const Unlocked unlocked;
                    return from_bytes(view);
                  })
      .def_static(
          "from_layers",
          [](const std::vector<nb::dict>& layers, const std::optional<std::string>& loss,
             std::vector<float> mean, std::vector<float> scale, std::vector<std::string> input_names,
             std::vector<std::string> output_names) {
            std::vector<LayerArrays> arrays;
            for (const nb::dict& layer : layers) {
              LayerArrays made;
              made.inputs = nb::cast<Index>(layer["inputs"]);
              made.outputs = nb::cast<Index>(layer["outputs"]);
              made.row_begin = copied(nb::cast<Vector<Offset>>(layer["row_begin"]));
              made.column = copied(nb::cast<Vector<Index>>(layer["column"]));
              made.value = copied(nb::cast<Vector<float>>(layer["value"]));
              made.bias = copied(nb::cast<Vector<float>>(layer["bias"]));
              made.activation = {activation_called(nb::cast<std::string>(layer["activation"])),
                                 nb::cast<float>(layer["cap"]), nb::cast<float>(layer["slope"])};
              arrays.push_back(std::move(made));
            }
            return make_network(std::move(arrays), facts_of(loss, std::move(mean), std::move(scale),
                                                            std::move(input_names), std::move(output_names)));
          },
          "layers"_a, "loss"_a = nb::none(), "mean"_a = std::vector<float>(),
          "scale"_a = std::vector<float>(), "input_names"_a = std::vector<std::string>(),
          "output_names"_a = std::vector<std::string>())
      .def(
          "save",
          [](const Network& network, const std::filesystem::path& path,
             const std::optional<std::string>& form, std::int64_t opset, bool sparse) {
            ExportOptions options;
            if (form) options.form = word_called<ModelForm>(*form, "form");
            options.opset = opset;
            options.sparse = sparse;
            const Unlocked unlocked;
            export_network(network, path, options);
          },
          "path"_a, "form"_a = nb::none(), "opset"_a = 17, "sparse"_a = false)
      .def("to_bytes",
           [](const Network& network) {
             std::vector<std::byte> bytes;
             {
               const Unlocked unlocked;
               bytes = to_bytes(network);
             }
             return to_python(bytes);
           })
      .def("layer", [](const Network& network, Index l) { return layer_dict(network.layer(l)); })
      .def_prop_ro("inputs", &Network::inputs)
      .def_prop_ro("outputs", &Network::outputs)
      .def_prop_ro("depth", &Network::layers)
      .def_prop_ro("compiled", &Network::compiled)
      .def_prop_ro("task", [](const Network& network) { return std::string(word(network.task())); })
      .def_prop_ro("loss",
                   [](const Network& network) -> std::optional<std::string> {
                     if (!network.facts().loss) return std::nullopt;
                     return std::string(word(*network.facts().loss));
                   })
      .def_prop_ro("input_names", [](const Network& network) { return network.facts().input_names; })
      .def_prop_ro("output_names", [](const Network& network) { return network.facts().output_names; })
      .def_prop_ro("input_mean", [](const Network& network) { return network.facts().scaling.mean; })
      .def_prop_ro("input_scale", [](const Network& network) { return network.facts().scaling.scale; })
      .def("describe", &Network::describe);

  nb::class_<Plan>(m, "Plan")
      .def(nb::new_([](const Network& network, double exit_threshold) {
             const Unlocked unlocked;
             return new Plan(compile(network, {exit_threshold}));
           }),
           "network"_a, "exit_threshold"_a = 1.0)
      .def_prop_ro("inputs", &Plan::inputs)
      .def_prop_ro("outputs", &Plan::outputs)
      // Few rows at once; many in a thread of their own, which Ctrl-C stops.
      .def("run", [](const Plan& plan, const PyRows& rows,
                     const nb::ndarray<float, nb::ndim<2>, nb::device::cpu>& out) {
        constexpr std::size_t kAtOnce = 4096;
        const std::size_t count = out.shape(0), width = out.shape(1),
                          stride = static_cast<std::size_t>(out.stride(0));
        if (count != rows.rows.rows() || width != static_cast<std::size_t>(plan.outputs()) ||
            (width > 1 && out.stride(1) != 1) || (count > 1 && stride < width))
          throw std::invalid_argument("the outputs do not fit the rows: an array of " +
                                      std::to_string(count) + " × " + std::to_string(width) + " for " +
                                      std::to_string(rows.rows.rows()) + " rows of " +
                                      std::to_string(plan.outputs()));
        const std::size_t apart = count > 1 ? stride : width;
        const OutputRows outputs(std::span(out.data(), count == 0 ? 0 : (count - 1) * apart + width), apart);
        if (count <= kAtOnce) {
          const Unlocked unlocked;
          plan.run(rows.rows, outputs);
          return;
        }
        interruptible([&](const Observer& observer) {
          plan.run(rows.rows, outputs, observer);
          return 0;
        });
      });
}

}  // namespace filigree::python
