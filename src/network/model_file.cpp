// SPDX-License-Identifier: Apache-2.0
#include "network/model_file.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <list>
#include <set>
#include <utility>

#include <fmt/ranges.h>

#include "base/error.h"
#include "filigree/options.h"
#include "io/json_value.h"
#include "io/message_text.h"
#include "io/safetensors.h"

namespace filigree::internal {

namespace {

constexpr const char* kFormat = "filigree model 1";

template <typename T>
T parse(const TensorFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail("{}: metadata {} is \"{}\", not a number", file.name(), key, text);
  return number;
}

// CRC-32 of each tensor's bytes, and of what the metadata says, as JSON: {"layers.0.value": "1f2e3d4c", …}.
constexpr const char* kSums = "sums";
constexpr const char* kMetadataSum = "__metadata__";

std::uint32_t sum_of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

std::uint32_t sum_of(const Metadata& metadata) {
  std::uint32_t sum = 0;
  for (const auto& [key, value] : metadata)
    if (key != kSums)
      for (const std::string* text : {&key, &value}) sum = sum_of(std::as_bytes(std::span(*text)), sum);
  return sum;
}

std::string sums_text(const Metadata& metadata, const std::map<std::string, TensorView>& tensors) {
  std::string text = fmt::format("{{\"{}\":\"{:08x}\"", kMetadataSum, sum_of(metadata));
  for (const auto& [name, tensor] : tensors)
    text += fmt::format(",{}:\"{:08x}\"", json_text(name), sum_of(tensor.bytes));
  return text + "}";
}

// Files without sums are those of before there were any.
void check_sums(const TensorFile& file) {
  const auto found = file.metadata().find(kSums);
  if (found == file.metadata().end()) return;
  const JsonValue sums = parse_json(found->second, file.name() + ": metadata sums", 1);
  const auto check = [&](const std::string& name, const std::string& what, std::uint32_t sum) {
    const JsonValue* const said = sums.find(name);
    if (said == nullptr || said->text != fmt::format("{:08x}", sum))
      fail("{}: {} is damaged: its CRC-32 is {:08x}, but {} when it was written", file.name(), what, sum,
           said == nullptr ? "unknown" : in_quotes(said->text));
  };
  check(kMetadataSum, "the metadata", sum_of(file.metadata()));
  for (const auto& [name, tensor] : file.tensors())
    check(name, "tensor " + in_quotes(name), sum_of(std::span(tensor.bytes.data(), tensor.bytes.size())));
}

// A tensor of `count` elements, or of one that stands for all.
std::vector<float> read_repeated(const TensorFile& file, const std::string& tensor, std::size_t count) {
  const auto values = file.get<float>(tensor);
  if (values.size() == 1) return std::vector<float>(count, values[0]);
  if (values.size() != count)
    fail("{}: {} holds {} values, but {} are needed", file.name(), tensor, values.size(), count);
  return {values.begin(), values.end()};
}

// Stored in the smallest type that holds them all, or in any that another program chose.
template <typename Widest>
std::vector<Widest> read_integers(const TensorFile& file, const std::string& tensor) {
  const auto converted = [&]<typename Stored>(Stored) {
    const auto stored = file.get<Stored>(tensor);
    std::vector<Widest> values(stored.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::in_range<Widest>(stored[i]))
        fail("{}: {}[{}] is {}, which is too large", file.name(), tensor, i, stored[i]);
      values[i] = static_cast<Widest>(stored[i]);
    }
    return values;
  };
  switch (file.at(tensor).dtype) {
    case DType::u8:
      return converted(std::uint8_t{});
    case DType::u16:
      return converted(std::uint16_t{});
    case DType::u32:
      return converted(std::uint32_t{});
    case DType::i32:
      return converted(std::int32_t{});
    case DType::i64:
    case DType::f32:  // get() says what is wrong with these
    case DType::f64:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::i16:
    case DType::boolean:
      return converted(std::int64_t{});
  }
  return {};
}

// Views of integers in the smallest type that holds them; keeps what the views borrow.
class Narrowed {
 public:
  template <typename Widest>
  TensorView view(const std::vector<Widest>& values, Widest largest) {
    if (largest <= 0xff) return keep(bytes_, values);
    if (largest <= 0xffff) return keep(shorts_, values);
    if constexpr (sizeof(Widest) > 4)
      if (largest <= 0xffffffff) return keep(words_, values);
    return tensor_view(std::span(values));
  }

 private:
  template <typename Stored, typename Widest>
  static TensorView keep(std::list<std::vector<Stored>>& kept, const std::vector<Widest>& values) {
    kept.emplace_back(values.begin(), values.end());
    return tensor_view(std::span<const Stored>(kept.back()));
  }

  std::list<std::vector<std::uint8_t>> bytes_;
  std::list<std::vector<std::uint16_t>> shorts_;
  std::list<std::vector<std::uint32_t>> words_;
};

// A layer with all its connections has no places in the file: its values are a matrix.
CsrMatrix read_weights(const TensorFile& file, const std::string& prefix, Index inputs) {
  CsrMatrix weights;
  if (!file.contains(prefix + "column")) {
    const Shape& shape = file.at(prefix + "value").shape;
    if (shape.size() != 2 || shape[0] > (1 << 24) || inputs == 0 ||
        shape[1] != static_cast<std::uint64_t>(inputs))
      fail("{}: {}value has shape [{}]; without a column tensor it must be [outputs, {}]", file.name(),
           prefix, fmt::join(shape, ", "), inputs);
    const auto values = file.get<float>(prefix + "value");
    return full_matrix(shape[0], inputs, {values.begin(), values.end()});
  }
  weights.row_begin = read_integers<Offset>(file, prefix + "row_begin");
  if (weights.row_begin.empty()) fail("{}: {}row_begin is empty", file.name(), prefix);
  weights.rows = std::min<std::size_t>(weights.row_begin.size() - 1, 0x7fffffff);
  weights.cols = inputs;
  weights.column = read_integers<Index>(file, prefix + "column");
  weights.value = read_repeated(file, prefix + "value", weights.column.size());
  return weights;
}

// Far more than any layer has: what a few bytes of a file promise must not take all memory.
constexpr Index kMostNeurons = 1 << 24;

Layer read_layer(const TensorFile& file, const std::string& prefix) {
  Layer layer;
  const auto inputs = parse<Index>(file, prefix + "inputs");
  if (inputs < 0 || inputs > kMostNeurons)
    fail("{}: metadata {}inputs is {}, but must be from 0 to {}", file.name(), prefix, inputs, kMostNeurons);
  layer.weights = read_weights(file, prefix, inputs);
  layer.bias = read_repeated(file, prefix + "bias", layer.weights.rows);
  const std::string& activation = file.metadata(prefix + "activation");
  const auto known = std::ranges::find(kActivationNames, activation);
  if (known == kActivationNames.end())
    fail("{}: {}activation is {}; known are {}", file.name(), prefix, in_quotes(activation),
         fmt::join(kActivationNames, ", "));
  layer.activation.kind = static_cast<Activation>(known - kActivationNames.begin());
  if (file.metadata().contains(prefix + "cap")) layer.activation.cap = parse<float>(file, prefix + "cap");
  if (layer.activation.has_slope()) layer.activation.slope = parse<float>(file, prefix + "slope");
  return layer;
}

// What a file is to hold, and what its views borrow.
struct Contents {
  Metadata metadata;
  std::map<std::string, TensorView> tensors;
  Narrowed narrowed;
};

void add_layer(const CsrMatrix& weights, const std::vector<float>& bias, const ActivationFunction& activation,
               const std::string& prefix, Contents& contents) {
  const auto repeated = [](const std::vector<float>& values) {
    const bool same = std::ranges::all_of(values, [&](float v) { return v == values[0]; });
    return std::span(values).first(same ? std::min<std::size_t>(1, values.size()) : values.size());
  };
  contents.metadata[prefix + "inputs"] = std::to_string(weights.cols);
  contents.metadata[prefix + "activation"] = activation_name(activation.kind);
  contents.metadata[prefix + "cap"] = fmt::format("{}", activation.cap);
  if (activation.has_slope()) contents.metadata[prefix + "slope"] = fmt::format("{}", activation.slope);
  auto& tensors = contents.tensors;
  if (is_full(weights.view())) {
    tensors[prefix + "value"] =
        tensor_view(std::span(weights.value),
                    {static_cast<std::uint64_t>(weights.rows), static_cast<std::uint64_t>(weights.cols)});
  } else {
    tensors[prefix + "row_begin"] = contents.narrowed.view(weights.row_begin, weights.row_begin.back());
    tensors[prefix + "column"] = contents.narrowed.view(weights.column, weights.cols - 1);
    tensors[prefix + "value"] = tensor_view(std::span<const float>(repeated(weights.value)));
  }
  tensors[prefix + "bias"] = tensor_view(std::span<const float>(repeated(bias)));
}

// Nothing if there is no such tensor.
std::vector<float> read_floats(const TensorFile& file, const std::string& tensor) {
  if (!file.contains(tensor)) return {};
  const auto values = file.get<float>(tensor);
  if (values.empty()) fail("{}: {} holds no values", file.name(), tensor);
  return {values.begin(), values.end()};
}

std::uint64_t read_hash(const TensorFile& file, const std::string& key) {
  if (!file.metadata().contains(key)) return 0;
  const std::string& text = file.metadata(key);
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    fail("{}: metadata {} is {}, not a hexadecimal number", file.name(), key, in_quotes(text));
  return hash;
}

std::vector<std::string> texts_of(const JsonValue& list, const std::string& place) {
  const bool texts =
      list.is(JsonValue::Kind::array) &&
      std::ranges::all_of(list.items, [](const JsonValue& item) { return item.is(JsonValue::Kind::text); });
  if (!texts) fail("{} is not a list of texts", place);
  std::vector<std::string> result;
  for (const JsonValue& item : list.items) result.push_back(item.text);
  return result;
}

std::vector<std::string> read_names(const Metadata& metadata, const std::string& key,
                                    const std::string& file) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) return {};
  const std::string place = file + ": metadata " + key;
  return texts_of(parse_json(found->second, place, 1), place);
}

// Files of before output.names have the numbers of the classes as a tensor.
std::vector<std::string> read_class_labels(const TensorFile& file, std::vector<std::string> names) {
  if (!file.contains("class.label")) return names;
  if (!names.empty()) fail("{}: class.label and output.names both name the outputs", file.name());
  const auto labels = file.get<std::int32_t>("class.label");
  for (std::size_t c = 0; c < labels.size(); ++c) {
    if (c > 0 && labels[c] <= labels[c - 1])
      fail("{}: class.label[{}] is {} after {}, but labels must ascend", file.name(), c, labels[c],
           labels[c - 1]);
    names.push_back(std::to_string(labels[c]));
  }
  return names;
}

// A column as JSON: {"name":"age","fill":38.5,"marks_missing":true} or
// {"name":"colour","categories":["blue"]}.
InputColumn read_column(const JsonValue& value, const std::string& place) {
  const auto wrong = [&](const char* what) { fail("{}: {} of a column is wrong or missing", place, what); };
  InputColumn column;
  if (!value.is(JsonValue::Kind::object)) fail("{} is not a list of columns", place);
  for (const auto& [key, part] : value.members) {
    if (key == "name") {
      if (!part.is(JsonValue::Kind::text)) wrong("name");
      column.name = part.text;
    } else if (key == "fill") {
      if (!part.is_number() || !std::isfinite(static_cast<float>(part.number))) wrong("fill");
      column.fill = static_cast<float>(part.number);
    } else if (key == "marks_missing") {
      if (!part.is(JsonValue::Kind::boolean)) wrong("marks_missing");
      column.marks_missing = part.boolean;
    } else if (key == "categories") {
      column.text = true;
      column.categories = texts_of(part, place);
      if (std::ranges::adjacent_find(column.categories, std::greater_equal()) != column.categories.end())
        fail("{}: the categories of {} do not ascend", place, in_quotes(column.name));
    } else {
      fail("{}: {} says nothing of a column", place, in_quotes(key));
    }
  }
  if (column.text && (column.marks_missing || !std::isnan(column.fill)))
    fail("{}: {} is text and numbers at once", place, in_quotes(column.name));
  return column;
}

std::vector<InputColumn> read_columns(const Metadata& metadata, const std::string& file) {
  constexpr const char* kKey = "input.columns";
  std::vector<InputColumn> columns;
  const auto found = metadata.find(kKey);
  if (found == metadata.end()) return columns;
  const std::string place = fmt::format("{}: metadata {}", file, kKey);
  const JsonValue list = parse_json(found->second, place, 3);
  if (!list.is(JsonValue::Kind::array)) fail("{} is not a list", place);
  for (const JsonValue& each : list.items) columns.push_back(read_column(each, place));
  return columns;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? "," : "") + json_text(name, true);
  return text + "]";
}

std::string columns_text(const std::vector<InputColumn>& columns) {
  std::string text = "[";
  for (const InputColumn& each : columns) {
    text += fmt::format("{}{{\"name\":{}", text.size() > 1 ? "," : "", json_text(each.name, true));
    if (!std::isnan(each.fill)) text += fmt::format(",\"fill\":{}", each.fill);
    if (each.marks_missing) text += ",\"marks_missing\":true";
    if (each.text) text += fmt::format(",\"categories\":{}", names_text(each.categories));
    text += "}";
  }
  return text + "]";
}

// A file that says more than was read is one that somebody misread: nothing is ignored.
void check_nothing_else(const TensorFile& file, const std::vector<Layer>& layers,
                        const std::vector<ExitHead>& exits) {
  std::set<std::string> tensors = {"input_of",   "output_of",   "output_constant",
                                   "input.mean", "input.scale", "class.label"};
  std::set<std::string> keys;
  const auto add = [&](const std::string& prefix, const ActivationFunction& activation) {
    for (const char* part : {"row_begin", "column", "value", "bias"}) tensors.insert(prefix + part);
    for (const char* part : {"inputs", "activation", "cap"}) keys.insert(prefix + part);
    if (activation.has_slope()) keys.insert(prefix + "slope");
  };
  for (std::size_t l = 0; l < layers.size(); ++l) {
    add(fmt::format("layers.{}.", l), layers[l].activation);
    if (!layers[l].gate) continue;
    add(fmt::format("gates.{}.", l), Activation::identity);
    keys.insert(fmt::format("gates.{}.active", l));
  }
  for (const ExitHead& exit : exits) add(fmt::format("exits.{}.", exit.after), exit.layer.activation);
  for (const auto& entry : file.tensors())
    if (!tensors.contains(entry.first))
      fail("{}: tensor {} belongs to nothing that the metadata names", file.name(), in_quotes(entry.first));
  for (const auto& entry : file.metadata()) {
    const std::string_view key = entry.first;
    const bool ours = key.starts_with("layers.") || key.starts_with("gates.") || key.starts_with("exits.");
    if (ours && !keys.contains(entry.first))
      fail("{}: metadata {} belongs to none of the {} layers", file.name(), in_quotes(key), layers.size());
  }
  if (file.contains("input_of") != file.contains("output_of"))
    fail("{}: input_of and output_of come together", file.name());
}

// Every gate and every exit in the file belongs to a layer that is there.
void check_branches(const TensorFile& file, const std::vector<Layer>& layers,
                    const std::vector<ExitHead>& exits) {
  for (const auto& entry : file.tensors()) {
    const std::string& name = entry.first;
    if (!name.starts_with("gates.") && !name.starts_with("exits.")) continue;
    const auto belongs = [&](const char* kind, std::size_t l) {
      return name.starts_with(fmt::format("{}.{}.", kind, l));
    };
    bool known = false;
    for (std::size_t l = 0; l < layers.size(); ++l) known |= layers[l].gate && belongs("gates", l);
    for (const ExitHead& exit : exits) known |= belongs("exits", static_cast<std::size_t>(exit.after));
    if (!known) fail("{}: {} belongs to no layer of the network", file.name(), in_quotes(name));
  }
}

Layer read_layer_with_gate(TensorFile& file, std::size_t l) {
  Layer layer = read_layer(file, fmt::format("layers.{}.", l));
  if (const std::string prefix = fmt::format("gates.{}.", l); file.contains(prefix + "value")) {
    Layer gate = read_layer(file, prefix);
    if (!gate.activation.is(Activation::identity))
      fail("{}: {}activation is {}, but a gate has none", file.name(), prefix,
           activation_name(gate.activation.kind));
    layer.gate = Gate{std::move(gate.weights), std::move(gate.bias), parse<Index>(file, prefix + "active")};
  }
  for (const char* part : {"row_begin", "column", "value", "bias"}) {
    const std::string tensor = fmt::format("layers.{}.{}", l, part);
    if (file.contains(tensor)) file.release(tensor);
  }
  return layer;
}

PortMap read_ports(const TensorFile& file) {
  if (!file.contains("input_of")) return {};
  const auto input_of = file.get<std::int32_t>("input_of");
  const auto output_of = file.get<std::int32_t>("output_of");
  const auto constant = file.get<float>("output_constant", {output_of.size()});
  return {{input_of.begin(), input_of.end()},
          {output_of.begin(), output_of.end()},
          {constant.begin(), constant.end()}};
}

std::optional<Loss> read_loss(const Metadata& metadata, const std::string& file) {
  const auto found = metadata.find("loss");
  if (found == metadata.end()) return {};
  const std::optional<Loss> loss = from_word<Loss>(found->second);
  if (!loss)
    fail("{}: metadata loss is {}; known are {}", file, in_quotes(found->second),
         fmt::join(Words<Loss>::kWords, ", "));
  return loss;
}

}  // namespace

void read_facts(const Metadata& metadata, const std::string& name, NetworkFacts& facts) {
  const auto take = [](auto& fact, auto said) {
    if (said != std::decay_t<decltype(fact)>()) fact = std::move(said);
  };
  take(facts.input_names, read_names(metadata, "input.names", name));
  take(facts.columns, read_columns(metadata, name));
  take(facts.target_columns, read_names(metadata, "target.columns", name));
  take(facts.loss, read_loss(metadata, name));
  take(facts.output_names, read_names(metadata, "output.names", name));
}

Metadata metadata_of(const NetworkFacts& facts) {
  Metadata metadata;
  if (facts.loss) metadata["loss"] = word(*facts.loss);
  if (!facts.output_names.empty()) metadata["output.names"] = names_text(facts.output_names);
  if (!facts.input_names.empty()) metadata["input.names"] = names_text(facts.input_names);
  if (!facts.columns.empty()) metadata["input.columns"] = columns_text(facts.columns);
  if (!facts.target_columns.empty()) metadata["target.columns"] = names_text(facts.target_columns);
  return metadata;
}

Network read_model(const std::filesystem::path& path) {
  return read_model(Source(path));
}

Network read_model(Source source) {
  TensorFile file = read_safetensors(std::move(source), [](const TensorFile& header) {
    if (header.metadata().contains("format") && header.metadata("format") == kFormat) return;
    fail(
        "{}: safetensors, but not a filigree model (metadata format is not \"{}\"); docs/FORMAT.md says how "
        "to "
        "write one from arrays",
        header.name(), kFormat);
  });
  check_sums(file);
  const auto count = parse<std::uint32_t>(file, "layers");
  if (count == 0 || count > file.tensors().size())
    fail("{}: {} layers in {} tensors", file.name(), count, file.tensors().size());
  Network::Parts parts;
  std::vector<Layer> layers;
  for (std::size_t l = 0; l < count; ++l) layers.push_back(read_layer_with_gate(file, l));
  for (std::size_t l = 1; l < count; ++l)
    if (const std::string prefix = fmt::format("exits.{}.", l); file.contains(prefix + "value"))
      parts.exits.push_back({static_cast<Index>(l), read_layer(file, prefix)});
  check_branches(file, layers, parts.exits);
  check_nothing_else(file, layers, parts.exits);
  parts.ports = read_ports(file);
  read_facts(file.metadata(), file.name(), parts.facts);
  parts.facts.output_names = read_class_labels(file, std::move(parts.facts.output_names));
  parts.facts.scaling = {read_floats(file, "input.mean"), read_floats(file, "input.scale")};
  parts.origin = {read_hash(file, "data.all_rows"), read_hash(file, "data.train_rows")};
  return Network(parts.with(std::move(layers), file.name()));
}

void write_model(Target target, const Network& network, const Observer& observer) {
  write_model(std::move(target), network.parts(), all_layers(network, observer));
}

void write_model(Target target, const Network::Parts& parts, std::span<const LayerPointer> layers) {
  Contents contents;
  Metadata& metadata = contents.metadata;
  std::map<std::string, TensorView>& tensors = contents.tensors;
  metadata = {{"format", kFormat}, {"layers", std::to_string(layers.size())}};
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const Layer& layer = *layers[l];
    add_layer(layer.weights, layer.bias, layer.activation, fmt::format("layers.{}.", l), contents);
    if (!layer.gate) continue;
    const std::string prefix = fmt::format("gates.{}.", l);
    add_layer(layer.gate->weights, layer.gate->bias, Activation::identity, prefix, contents);
    metadata[prefix + "active"] = std::to_string(layer.gate->active);
  }
  for (const ExitHead& exit : parts.exits)
    add_layer(exit.layer.weights, exit.layer.bias, exit.layer.activation,
              fmt::format("exits.{}.", exit.after), contents);
  if (!parts.ports.empty()) {
    tensors["input_of"] = tensor_view(std::span(parts.ports.input_of));
    tensors["output_of"] = tensor_view(std::span(parts.ports.output_of));
    tensors["output_constant"] = tensor_view(std::span(parts.ports.output_constant));
  }
  const NetworkFacts& facts = parts.facts;
  if (!facts.scaling.mean.empty()) tensors["input.mean"] = tensor_view(std::span(facts.scaling.mean));
  if (!facts.scaling.scale.empty()) tensors["input.scale"] = tensor_view(std::span(facts.scaling.scale));
  metadata.merge(metadata_of(facts));
  const DataOrigin& origin = parts.origin;
  if (origin.all_rows != 0) metadata["data.all_rows"] = fmt::format("{:016x}", origin.all_rows);
  if (origin.train_rows != 0) metadata["data.train_rows"] = fmt::format("{:016x}", origin.train_rows);
  metadata[kSums] = sums_text(metadata, tensors);
  write_safetensors(std::move(target), metadata, tensors);
}

}  // namespace filigree::internal
