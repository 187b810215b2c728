// SPDX-License-Identifier: Apache-2.0
// Networks as ONNX: raw inputs in, what predictions say out. Scaling, activations and the softmax or sigmoid
// at the end are nodes, names are metadata.
#include <algorithm>
#include <array>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "base/error.h"
#include "filigree/version.h"
#include "interchange/interchange.h"
#include "interchange/onnx_model.h"
#include "network/model_file.h"

namespace filigree::internal {

namespace {

using Writer = protozero::pbf_writer;

constexpr std::int64_t kOldest = 13, kNewest = 25, kIrVersion = 8;

std::string_view bytes_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::string tensor(const std::string& name, const std::vector<std::int64_t>& dims, OnnxType type,
                   std::string_view raw) {
  std::string text;
  Writer writer(text);
  for (const std::int64_t dim : dims) writer.add_int64(1, dim);
  writer.add_int32(2, static_cast<std::int32_t>(type));
  writer.add_string(8, name);
  writer.add_bytes(9, raw.data(), raw.size());
  return text;
}

std::string floats(const std::string& name, std::span<const float> values,
                   const std::vector<std::int64_t>& dims) {
  return tensor(name, dims, OnnxType::float32, bytes_of(values));
}

struct Attribute {
  std::string_view name;
  std::int64_t whole = 0;
  float number = 0;
  bool is_number = false;
};

class GraphWriter {
 public:
  explicit GraphWriter(const ExportOptions& options) : options_(options) {}

  // Adds a node of the value there is and these constants; its result is the value from then on.
  void node(std::string_view type, const std::vector<std::string>& constants, const std::string& result,
            std::span<const Attribute> attributes = {}) {
    std::string text;
    Writer writer(text);
    writer.add_string(1, value_);
    for (const std::string& constant : constants) writer.add_string(1, constant);
    writer.add_string(2, result);
    writer.add_string(3, fmt::format("{}_{}", result, type));
    writer.add_string(4, type.data(), type.size());
    for (const Attribute& attribute : attributes) {
      std::string inner;
      Writer field(inner);
      field.add_string(1, attribute.name.data(), attribute.name.size());
      if (attribute.is_number) {
        field.add_float(2, attribute.number);
        field.add_int32(20, 1);
      } else {
        field.add_int64(3, attribute.whole);
        field.add_int32(20, 2);
      }
      writer.add_message(5, inner);
    }
    nodes_.push_back(std::move(text));
    value_ = result;
  }

  std::string constant(const std::string& name, std::span<const float> values,
                       const std::vector<std::int64_t>& dims) {
    constants_.push_back(floats(name, values, dims));
    return name;
  }

  std::string weights(const std::string& name, const CsrMatrix& matrix) {
    const std::int64_t rows = matrix.rows, cols = matrix.cols;
    if (!options_.sparse) {
      std::vector<float> full(static_cast<std::size_t>(rows * cols), 0.0f);
      for (Index r = 0; r < matrix.rows; ++r)
        for (Offset e = matrix.row_begin[r]; e < matrix.row_begin[r + std::size_t{1}]; ++e)
          full[std::size_t{1} * r * matrix.cols + matrix.column[e]] = matrix.value[e];
      return constant(name, full, {rows, cols});
    }
    std::vector<std::int64_t> indices;
    for (Index r = 0; r < matrix.rows; ++r)
      for (Offset e = matrix.row_begin[r]; e < matrix.row_begin[r + std::size_t{1}]; ++e)
        indices.push_back(r * cols + matrix.column[e]);
    const std::int64_t count = std::ssize(indices);
    std::string text;
    Writer writer(text);
    writer.add_message(1, floats(name, matrix.value, {count}));
    writer.add_message(
        2, tensor(name + "_indices", {count}, OnnxType::int64,
                  {reinterpret_cast<const char*>(indices.data()), indices.size() * sizeof(std::int64_t)}));
    for (const std::int64_t dim : {rows, cols}) writer.add_int64(3, dim);
    sparse_.push_back(std::move(text));
    return name;
  }

  static std::string port(const std::string& name, std::int64_t width) {
    std::string rows, columns, shape, type, whole, text;
    Writer(rows).add_string(2, "rows");
    Writer(columns).add_int64(1, width);
    Writer dims(shape);
    dims.add_message(1, rows);
    dims.add_message(1, columns);
    Writer of_tensor(type);
    of_tensor.add_int32(1, static_cast<std::int32_t>(OnnxType::float32));
    of_tensor.add_message(2, shape);
    Writer(whole).add_message(1, type);
    Writer port(text);
    port.add_string(1, name);
    port.add_message(2, whole);
    return text;
  }

  std::string graph(std::int64_t inputs, std::int64_t outputs) const {
    std::string text;
    Writer writer(text);
    for (const std::string& node : nodes_) writer.add_message(1, node);
    writer.add_string(2, "filigree");
    for (const std::string& each : constants_) writer.add_message(5, each);
    writer.add_message(11, port("input", inputs));
    writer.add_message(12, port(value_, outputs));
    for (const std::string& each : sparse_) writer.add_message(15, each);
    return text;
  }

  const std::string& value() const { return value_; }

 private:
  const ExportOptions& options_;
  std::string value_ = "input";
  std::vector<std::string> nodes_, constants_, sparse_;
};

void add_scaling(const InputScaling& scaling, GraphWriter& graph) {
  const auto dims = [](const std::vector<float>& values) {
    return values.size() == 1 ? std::vector<std::int64_t>() : std::vector<std::int64_t>{std::ssize(values)};
  };
  if (!scaling.mean.empty())
    graph.node("Sub", {graph.constant("input.mean", scaling.mean, dims(scaling.mean))}, "centred");
  if (!scaling.scale.empty())
    graph.node("Mul", {graph.constant("input.scale", scaling.scale, dims(scaling.scale))}, "scaled");
}

void add_activation(const ActivationFunction& activation, const std::string& layer, GraphWriter& graph) {
  switch (activation.kind) {
    case Activation::identity:
      return;
    case Activation::relu:
      if (!activation.saturates()) return graph.node("Relu", {}, layer);
      return graph.node("Clip",
                        {graph.constant(layer + ".least", std::array{0.0f}, {}),
                         graph.constant(layer + ".cap", std::array{activation.cap}, {})},
                        layer);
    case Activation::leaky_relu: {
      const Attribute slope{.name = "alpha", .number = activation.slope, .is_number = true};
      return graph.node("LeakyRelu", {}, layer, {&slope, 1});
    }
    case Activation::sigmoid:
      return graph.node("Sigmoid", {}, layer);
    case Activation::tanh:
      return graph.node("Tanh", {}, layer);
    case Activation::softplus:
      return graph.node("Softplus", {}, layer);
  }
}

void add_link(const Network& network, GraphWriter& graph) {
  if (!network.facts().loss) return;
  switch (output_link(*network.facts().loss)) {
    case OutputLink::softmax: {
      const Attribute axis{.name = "axis", .whole = -1};
      return graph.node("Softmax", {}, "probabilities", {&axis, 1});
    }
    case OutputLink::sigmoid:
      return graph.node("Sigmoid", {}, "probabilities");
    case OutputLink::identity:
      return;
  }
}

}  // namespace

void write_onnx(Target target, const Network& network, const ExportOptions& options) {
  if (options.opset < kOldest || options.opset > kNewest)
    fail_for("opset", "operator set {}, but those from {} to {} are written", options.opset, kOldest,
             kNewest);
  const std::vector<LayerPointer> layers = plain_layers(network, "ONNX");
  GraphWriter graph(options);
  add_scaling(network.facts().scaling, graph);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = *layers[l];
    const std::string name = fmt::format("layer{}", l + 1);
    const Attribute turned{.name = "transB", .whole = 1};
    graph.node("Gemm",
               {graph.weights(name + ".weight", layer.weights),
                graph.constant(name + ".bias", layer.bias, {std::ssize(layer.bias)})},
               name + ".sum", {&turned, 1});
    add_activation(layer.activation, name, graph);
  }
  add_link(network, graph);
  if (graph.value() != "probabilities") graph.node("Identity", {}, "output");
  std::string text;
  Writer writer(text);
  writer.add_int64(1, kIrVersion);
  writer.add_string(2, "filigree");
  writer.add_string(3, FILIGREE_VERSION);
  writer.add_message(7, graph.graph(network.inputs(), network.outputs()));
  std::string opset;
  Writer(opset).add_int64(2, options.opset);
  writer.add_message(8, opset);
  for (const auto& [key, value] : metadata_of(network.facts())) {
    std::string entry;
    Writer pair(entry);
    pair.add_string(1, key);
    pair.add_string(2, value);
    writer.add_message(14, entry);
  }
  constexpr std::size_t kMost = std::size_t{1} << 31;  // of every message in protobuf
  if (text.size() >= kMost)
    fail("{}: {} bytes, but an ONNX file has less than 2 GiB{}", target.name(), text.size(),
         options.sparse ? "" : ": sparse initialisers may fit");
  target.write(text);
  target.commit();
}

}  // namespace filigree::internal
