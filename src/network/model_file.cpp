#include "network/model_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <list>

#include <fmt/ranges.h>

#include "base/error.h"
#include "filigree/options.h"
#include "io/message_text.h"
#include "io/safetensors.h"

namespace filigree {

namespace {

constexpr const char* kFormat = "filigree model 1";
constexpr auto& kLosses = Words<Loss>::words;

template <typename T>
T parse(const TensorFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{}: metadata {} is \"{}\", not a number", file.name(), key, text);
  return number;
}

// A tensor of `count` elements, or of one that stands for all.
std::vector<float> read_repeated(const TensorFile& file, const std::string& tensor, std::size_t count) {
  const auto values = file.get<float>(tensor);
  if (values.size() == 1) return std::vector<float>(count, values[0]);
  if (values.size() != count)
    fail("{}: {} holds {} values, but {} are needed", file.name(), tensor, values.size(), count);
  return {values.begin(), values.end()};
}

std::vector<Index> read_columns(const TensorFile& file, const std::string& tensor) {
  if (file.at(tensor).dtype == DType::u16) {
    const auto narrow = file.get<std::uint16_t>(tensor);
    return {narrow.begin(), narrow.end()};
  }
  const auto wide = file.get<std::int32_t>(tensor);
  return {wide.begin(), wide.end()};
}

Layer read_layer(const TensorFile& file, std::size_t l) {
  const std::string prefix = fmt::format("layers.{}.", l);
  Layer layer;
  const auto row_begin = file.get<std::int64_t>(prefix + "row_begin");
  if (row_begin.empty()) fail("{}: {}row_begin is empty", file.name(), prefix);
  layer.weights.rows = static_cast<Index>(std::min<std::size_t>(row_begin.size() - 1, 0x7fffffff));
  layer.weights.cols = parse<Index>(file, prefix + "inputs");
  layer.weights.row_begin.assign(row_begin.begin(), row_begin.end());
  layer.weights.column = read_columns(file, prefix + "column");
  layer.weights.value = read_repeated(file, prefix + "value", layer.weights.column.size());
  layer.bias = read_repeated(file, prefix + "bias", row_begin.size() - 1);
  const std::string& activation = file.metadata(prefix + "activation");
  const auto known = std::ranges::find(kActivationNames, activation);
  if (known == kActivationNames.end())
    fail("{}: {}activation is {}; known are {}", file.name(), prefix, in_quotes(activation),
         fmt::join(kActivationNames, ", "));
  layer.activation = static_cast<Activation>(known - kActivationNames.begin());
  layer.cap = parse<float>(file, prefix + "cap");
  if (layer.activation == Activation::leaky_relu) layer.slope = parse<float>(file, prefix + "slope");
  return layer;
}

// One value, or one per outer input; nothing if there is no such tensor.
std::vector<float> read_scaling(const TensorFile& file, const std::string& tensor, std::size_t inputs) {
  if (!file.contains(tensor)) return {};
  const auto values = file.get<float>(tensor);
  if (values.size() != 1 && values.size() != inputs)
    fail("{}: {} holds {} values for {} inputs", file.name(), tensor, values.size(), inputs);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) fail("{}: {}[{}] is {}", file.name(), tensor, i, values[i]);
  return {values.begin(), values.end()};
}

void check_map(const TensorFile& file, const char* name, std::span<const Index> map, Index end) {
  for (std::size_t i = 0; i < map.size(); ++i)
    if (map[i] < -1 || map[i] >= end)
      fail("{}: {}[{}] is {}, but there are {} neurons", file.name(), name, i, map[i], end);
}

}  // namespace

Model read_model(const std::filesystem::path& path) {
  return read_model(Source(path));
}

Model read_model(Source source) {
  TensorFile file = read_safetensors(std::move(source));
  if (!file.metadata().contains("format") || file.metadata("format") != kFormat)
    fail("{}: not a filigree model (metadata format is not \"{}\")", file.name(), kFormat);
  Model model;
  const auto layers = parse<std::uint32_t>(file, "layers");
  if (layers == 0 || layers > file.tensors().size())
    fail("{}: {} layers in {} tensors", file.name(), layers, file.tensors().size());
  for (std::size_t l = 0; l < layers; ++l) {
    model.layers.push_back(read_layer(file, l));
    validate(model.layers.back(), fmt::format("{}: layer {}", file.name(), l + 1));
    for (const char* part : {"row_begin", "column", "value", "bias"})
      file.release(fmt::format("layers.{}.{}", l, part));
  }
  if (file.contains("input_of")) {
    const auto input_of = file.get<std::int32_t>("input_of");
    const auto output_of = file.get<std::int32_t>("output_of");
    const auto constant = file.get<float>("output_constant", {output_of.size()});
    check_map(file, "input_of", input_of, model.layers.front().inputs());
    check_map(file, "output_of", output_of, model.layers.back().outputs());
    model.input_of.assign(input_of.begin(), input_of.end());
    model.output_of.assign(output_of.begin(), output_of.end());
    model.output_constant.assign(constant.begin(), constant.end());
  }
  model.input_mean = read_scaling(file, "input.mean", model.inputs());
  model.input_scale = read_scaling(file, "input.scale", model.inputs());
  if (file.metadata().contains("loss")) {
    model.loss = file.metadata("loss");
    if (!std::ranges::count(kLosses, model.loss))
      fail("{}: metadata loss is {}; known are {}", file.name(), in_quotes(model.loss),
           fmt::join(kLosses, ", "));
  }
  if (file.contains("class.label")) {
    const auto labels = file.get<std::int32_t>("class.label", {model.outputs()});
    model.class_label.assign(labels.begin(), labels.end());
    for (std::size_t c = 1; c < labels.size(); ++c)
      if (labels[c] <= labels[c - 1])
        fail("{}: class.label[{}] is {} after {}, but labels must ascend", file.name(), c, labels[c],
             labels[c - 1]);
  }
  return model;
}

void write_model(const std::filesystem::path& path, const Model& model) {
  Metadata metadata{{"format", kFormat}, {"layers", std::to_string(model.layers.size())}};
  std::map<std::string, TensorView> tensors;
  std::list<std::vector<std::uint16_t>> narrow;  // keeps what the views borrow
  const auto repeated = [](const std::vector<float>& values) {
    const bool same = std::ranges::all_of(values, [&](float v) { return v == values[0]; });
    return std::span(values).first(same ? std::min<std::size_t>(1, values.size()) : values.size());
  };
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    const std::string prefix = fmt::format("layers.{}.", l);
    metadata[prefix + "inputs"] = std::to_string(layer.inputs());
    metadata[prefix + "activation"] = activation_name(layer.activation);
    metadata[prefix + "cap"] = fmt::format("{}", layer.cap);
    if (layer.activation == Activation::leaky_relu)
      metadata[prefix + "slope"] = fmt::format("{}", layer.slope);
    tensors[prefix + "row_begin"] = tensor_view(std::span(layer.weights.row_begin));
    if (layer.inputs() <= 65536) {
      narrow.emplace_back(layer.weights.column.begin(), layer.weights.column.end());
      tensors[prefix + "column"] = tensor_view(std::span<const std::uint16_t>(narrow.back()));
    } else {
      tensors[prefix + "column"] = tensor_view(std::span(layer.weights.column));
    }
    tensors[prefix + "value"] = tensor_view(std::span<const float>(repeated(layer.weights.value)));
    tensors[prefix + "bias"] = tensor_view(std::span<const float>(repeated(layer.bias)));
  }
  if (!model.input_of.empty()) {
    tensors["input_of"] = tensor_view(std::span(model.input_of));
    tensors["output_of"] = tensor_view(std::span(model.output_of));
    tensors["output_constant"] = tensor_view(std::span(model.output_constant));
  }
  if (!model.input_mean.empty()) tensors["input.mean"] = tensor_view(std::span(model.input_mean));
  if (!model.input_scale.empty()) tensors["input.scale"] = tensor_view(std::span(model.input_scale));
  if (!model.loss.empty()) metadata["loss"] = model.loss;
  if (!model.class_label.empty()) tensors["class.label"] = tensor_view(std::span(model.class_label));
  write_safetensors(path, metadata, tensors);
}

}  // namespace filigree
