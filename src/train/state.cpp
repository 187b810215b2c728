// SPDX-License-Identifier: Apache-2.0
#include "train/state.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <list>

#include "base/error.h"
#include "filigree/runtime.h"
#include "filigree/train.h"
#include "io/json_value.h"
#include "io/message_text.h"
#include "io/safetensors.h"
#include "kernels/descent.h"
#include "train/config.h"
#include "train/settings.h"
#include "train/topology.h"

namespace filigree::internal {

namespace {

constexpr const char* kFormat = "filigree checkpoint 1";
constexpr const char* kSum = "sum";
constexpr std::string_view kWatched = "validation_metric";  // where there is one

// What scores are called in files.
std::string_view score_name(Task task) {
  switch (task) {
    case Task::classes:
    case Task::labels:
      return "accuracy";
    case Task::values:
      return "r2";
  }
  return "accuracy";
}

// Names each number of a report once, for both directions; %: the score's name. NaN is null.
template <typename Report, typename Visit>
void for_each_number(Report& r, const Visit& visit) {
  visit("epoch", r.epoch);
  visit("epochs", r.epochs);
  visit("lr", r.lr);
  visit("train_loss", r.train_loss);
  visit("train_%", r.train_score);
  visit("validation_loss", r.validation_loss);
  visit("validation_%", r.validation_score);
  visit("test_%", r.test_score);
  visit("validation_metric", r.validation_metric);
  visit("nnz", r.connections);
  visit("sparsity", r.sparsity);
  visit("dropped", r.dropped);
  visit("grown", r.grown);
  visit("dead_neurons", r.dead_neurons);
  visit("seconds", r.seconds);
  visit("evolve_seconds", r.evolve_seconds);
  visit("samples_per_second", r.samples_per_second);
}

std::string full_name(std::string_view name, Task task) {
  if (!name.ends_with('%')) return std::string(name);
  return std::string(name.substr(0, name.size() - 1)).append(score_name(task));
}

// Quick, and good enough to tell data sets apart and to find damage; no protection from forgery.
class Hash {
 public:
  void add(std::uint64_t word) { hash_ = mix64(hash_ ^ word); }
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    add_words(bytes);
  }
  // Whole words of 8 bytes, unless nothing follows.
  void add_words(std::span<const std::byte> bytes) {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, 8);
      hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15u;
      hash_ ^= hash_ >> 32;
    }
    for (; i < bytes.size(); ++i) add(std::to_integer<std::uint64_t>(bytes[i]));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0;
};

// Pixels as bytes, everything else as floats, whatever holds them; rows on disk are let go again on the way.
void add_dense(Hash& hash, const DataRows& rows) {
  constexpr std::size_t kTogether = 1 << 14;
  const std::size_t width = rows.features;
  const bool widen = !rows.pixels;
  const std::span<const std::uint8_t> bytes = rows.bytes;
  const std::span<const float> floats = rows.floats;
  hash.add(std::as_bytes(widen ? bytes.first(0) : bytes));
  hash.add((floats.size() + (widen ? bytes.size() : 0)) * sizeof(float));
  std::vector<float> wide;
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows.rows) && (widen || !floats.empty());
       r += kTogether) {
    const std::size_t count = std::min(kTogether, rows.rows - r);
    if (floats.empty() && !bytes.empty()) {
      const auto part = bytes.subspan(r * width, count * width);
      wide.assign(part.begin(), part.end());
      hash.add_words(std::as_bytes(std::span(wide)));
    } else if (!floats.empty()) {
      hash.add_words(std::as_bytes(floats.subspan(r * width, count * width)));
    }
    rows.forget(static_cast<Index>(r), static_cast<Index>(r + count));
  }
}

template <typename T>
T number(const TensorFile& file, const std::string& key) {
  const std::string& text = file.metadata(key);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool good = error == std::errc() && end == text.data() + text.size() && !text.empty();
  if constexpr (std::is_floating_point_v<T>) good = good && std::isfinite(value);
  if (!good)
    fail("{}: metadata {} is \"{}\", not a {}number", file.name(), key, text,
         std::is_integral_v<T> ? "whole " : "");
  return value;
}

template <typename T>
std::vector<T> values(const TensorFile& file, const std::string& tensor, std::size_t size) {
  const auto found = file.get<T>(tensor);
  if (found.size() != size)
    fail("{}: {} holds {} values instead of {}", file.name(), tensor, found.size(), size);
  if constexpr (std::is_same_v<T, float>) {
    for (std::size_t i = 0; i < size; ++i)
      if (!std::isfinite(found[i])) fail("{}: {}[{}] is {}", file.name(), tensor, i, found[i]);
  }
  return {found.begin(), found.end()};
}

// Views of vectors, and the vectors that had to be made for the file.
struct Tensors {
  std::map<std::string, TensorView> views;
  std::list<std::vector<std::int64_t>> wide;

  template <typename T>
  void add(const std::string& name, const std::vector<T>& data) {
    views[name] = tensor_view(std::span<const T>(data));
  }
};

void add_layer(Tensors& tensors, const std::string& prefix, const TrainLayer& layer) {
  if (!layer.dense) {
    tensors.add(prefix + "row_begin", layer.pattern.row_begin);
    tensors.add(prefix + "column", layer.pattern.column);
  }
  tensors.add(prefix + "value", layer.value);
  tensors.add(prefix + "first", layer.first);
  tensors.add(prefix + "second", layer.second);
  tensors.add(prefix + "bias", layer.bias);
  tensors.add(prefix + "bias_first", layer.bias_first);
  tensors.add(prefix + "bias_second", layer.bias_second);
}

void add_best(Tensors& tensors, const std::string& prefix, const Layer& layer) {
  tensors.add(prefix + "row_begin", layer.weights.row_begin);
  tensors.add(prefix + "column", layer.weights.column);
  tensors.add(prefix + "value", layer.weights.value);
  tensors.add(prefix + "bias", layer.bias);
}

TrainLayer read_layer(const TensorFile& file, std::size_t l, const LayerShape& shape,
                      const TrainState& state) {
  const std::string prefix = fmt::format("layers.{}.", l);
  TrainLayer layer;
  layer.inputs = shape.inputs;
  layer.outputs = shape.outputs;
  layer.role = shape.role;
  layer.level = shape.level;
  layer.dense = state.options.network.dense;
  layer.by_input = number<int>(file, prefix + "by_input") != 0;
  if (shape.level > 0 ? layer.by_input == layer.dense : layer.by_input && layer.dense)
    fail("{}: layer {} is {}stored by input", file.name(), l + 1, layer.by_input ? "" : "not ");
  const auto activation = number<std::uint64_t>(file, prefix + "activation");
  if (activation >= kActivationNames.size())
    fail("{}: layer {} has the unknown activation {}", file.name(), l + 1, activation);
  layer.activation.kind = static_cast<Activation>(activation);
  layer.activation.slope = number<float>(file, prefix + "slope");
  layer.threshold = number<double>(file, prefix + "threshold");
  std::size_t size = layer.capacity();
  if (!layer.dense) {
    Pattern& pattern = layer.pattern;
    pattern.rows = layer.by_input ? layer.inputs : layer.outputs;
    pattern.cols = layer.by_input ? layer.outputs : layer.inputs;
    pattern.row_begin =
        values<std::uint32_t>(file, prefix + "row_begin", static_cast<std::size_t>(pattern.rows) + 1);
    const auto column = file.get<std::uint16_t>(prefix + "column");
    pattern.column.assign(column.begin(), column.end());
    validate(pattern, fmt::format("{}: layer {}", file.name(), l + 1));
    index_rows(pattern);
    size = pattern.nnz();
    if (shape.level > 0) layer.transposed = transpose(pattern);
  }
  const Optimizer optimizer = state.options.learning.optimizer;
  const std::size_t moments = moments_of(optimizer) > 0 ? 1 : 0, squares = moments_of(optimizer) > 1 ? 1 : 0;
  const std::size_t outputs = layer.outputs;
  layer.value = values<float>(file, prefix + "value", size);
  layer.first = values<float>(file, prefix + "first", moments * size);
  layer.second = values<float>(file, prefix + "second", squares * size);
  layer.bias = values<float>(file, prefix + "bias", outputs);
  layer.bias_first = values<float>(file, prefix + "bias_first", moments * outputs);
  layer.bias_second = values<float>(file, prefix + "bias_second", squares * outputs);
  layer.transposed_value.resize(layer.transposed.nnz());
  return layer;
}

Layer read_best(const TensorFile& file, std::size_t l, const TrainLayer& like) {
  const std::string prefix = fmt::format("best.{}.", l);
  Layer layer;
  layer.weights.rows = like.outputs;
  layer.weights.cols = like.inputs;
  layer.weights.row_begin =
      values<std::int64_t>(file, prefix + "row_begin", static_cast<std::size_t>(like.outputs) + 1);
  const auto column = file.get<std::int32_t>(prefix + "column");
  layer.weights.column.assign(column.begin(), column.end());
  layer.weights.value = values<float>(file, prefix + "value", column.size());
  layer.bias = values<float>(file, prefix + "bias", like.outputs);
  layer.activation = like.activation;
  validate(layer, fmt::format("{}: best layer {}", file.name(), l + 1));
  return layer;
}

// Layers come in the order of layout().
void add_layer(std::vector<Layer>& layers, std::vector<ExitHead>& exits, const TrainLayer& trained,
               Layer layer, Index active) {
  switch (trained.role) {
    case LayerRole::chain:
      layers.push_back(std::move(layer));
      break;
    case LayerRole::expert:
      if (layers.size() == trained.level)
        layers.push_back(std::move(layer));
      else
        append_expert(layers.back(), layer);
      break;
    case LayerRole::gate:
      layers[trained.level].gate = Gate{std::move(layer.weights), std::move(layer.bias), active};
      break;
    case LayerRole::exit:
      exits.push_back({static_cast<Index>(trained.level), std::move(layer)});
      break;
  }
}

// As JSON, name by name: unlike the TOML library, our reader of JSON survives memory that ran out.
std::string settings_text(const TrainOptions& options) {
  std::string text = "{\"preset\":" + json_text(options.preset, true);
  for (const SettingInfo& info : setting_infos(options))
    text += fmt::format(",\"{}\":{}", info.name, json_text(info.standard));
  return text + "}";
}

TrainOptions read_settings(const TensorFile& file, TrainOptions options) {
  if (!file.metadata().contains("settings")) {  // up to version 0.2: TOML
    const std::string& config = file.metadata("config");
    return parse_config(Source(std::as_bytes(std::span(config)), file.name()), {{}, options}).options;
  }
  const std::string place = file.name() + ": metadata settings";
  const JsonValue settings = parse_json(file.metadata("settings"), place, 1);
  for (const auto& [name, value] : settings.members) {
    if (!value.is(JsonValue::Kind::text)) fail("{}: {} is no text", place, in_quotes(name));
    if (name == "preset") {
      options.preset = value.text;
      continue;
    }
    const Setting* const setting = find_setting(name);
    try {
      if (setting != nullptr && value.text.empty())
        clear_list(options, *setting);
      else
        apply_setting(options, name, value.text);
    } catch (const std::invalid_argument& error) {
      fail("{}: {}", place, error.what());
    }
  }
  return options;
}

}  // namespace

std::string to_json_line(const EpochReport& report, Task task) {
  std::string line = "{";
  for_each_number(report, [&](std::string_view name, const auto& value) {
    if (name == kWatched && std::isnan(report.validation_metric)) return;
    line += fmt::format("{}\"{}\":", line.size() > 1 ? "," : "", full_name(name, task));
    if constexpr (std::is_floating_point_v<std::decay_t<decltype(value)>>) {
      line += json_number(value);
    } else {
      line += std::to_string(value);
    }
  });
  return line + "}";
}

EpochReport epoch_from_json(const std::string& line) {
  const JsonValue values = parse_json(line, "a line of metrics", 1);
  if (!values.is(JsonValue::Kind::object)) fail("\"{}\" is no line of metrics", line);
  EpochReport report;
  for_each_number(report, [&](std::string_view short_name, auto& value) {
    using T = std::decay_t<decltype(value)>;
    std::string name = full_name(short_name, Task::classes);
    const JsonValue* found = values.find(name);
    if (found == nullptr) found = values.find(name = full_name(short_name, Task::values));
    if (found == nullptr && name == kWatched) return;
    const bool null = found != nullptr && found->is(JsonValue::Kind::null);
    const auto whole = [&] {
      return found->number == std::floor(found->number) && std::fabs(found->number) < 0x1p53;
    };
    const bool fits = found != nullptr &&
                      (std::is_integral_v<T> ? found->is_number() && whole() : found->is_number() || null);
    if (!fits) fail("metrics: \"{}\" is missing in \"{}\"", name, line);
    value = null ? std::numeric_limits<T>::quiet_NaN() : static_cast<T>(found->number);
  });
  return report;
}

std::uint64_t fingerprint(const Dataset& data) {
  Hash hash;
  hash.add(data.outputs(Loss::cross_entropy));
  for (const DataRows* part : {&data.train, &data.test, &data.validation}) {
    if (part == &data.validation && part->rows == 0) continue;
    hash.add(part->rows);
    hash.add(part->features);
    hash.add(std::as_bytes(std::span(part->label)));
    if (!part->target.empty()) hash.add(std::as_bytes(std::span(part->target)));
    if (!part->weight.empty()) hash.add(std::as_bytes(std::span(part->weight)));
    add_dense(hash, *part);
    hash.add(std::as_bytes(std::span(part->row_begin)));
    hash.add(std::as_bytes(std::span<const Index>(part->column)));
    hash.add(std::as_bytes(std::span<const float>(part->value)));
    part->forget(0, part->rows);
  }
  return hash.value();
}

void set_facts(TrainState& state, const Dataset& data) {
  state.facts.output_names = data.target_names;
  state.facts.input_names = data.feature_names;
  state.facts.columns = data.columns;
  state.facts.target_columns = data.target_columns;
  state.origin = data.origin;
}

std::uint64_t checkpoint_sum(const Metadata& metadata, const std::map<std::string, TensorView>& tensors) {
  Hash hash;
  const auto add_text = [&](const std::string& text) { hash.add(std::as_bytes(std::span(text))); };
  for (const auto& [key, value] : metadata) {
    if (key == kSum) continue;
    add_text(key);
    add_text(value);
  }
  for (const auto& [name, tensor] : tensors) {
    add_text(name);
    hash.add(tensor.bytes);
  }
  return hash.value();
}

void write_checkpoint(Target target, const TrainState& state) {
  Tensors tensors;
  Metadata metadata;
  metadata["format"] = kFormat;
  metadata["settings"] = settings_text(state.options);
  metadata["simd"] = simd_name();
  metadata["data"] = fmt::format("{}", state.data_fingerprint);
  metadata["step"] = fmt::format("{}", state.step);
  metadata["step_in_epoch"] = fmt::format("{}", state.step_in_epoch);
  metadata["epoch"] = to_json_line(state.epoch, Task::classes);
  metadata["best_accuracy"] = fmt::format("{}", state.best_score);
  metadata["best_epoch"] = fmt::format("{}", state.best_epoch);
  std::string history;
  for (const EpochReport& report : state.history)
    history.append(to_json_line(report, Task::classes)).push_back('\n');
  metadata["history"] = history;
  tensors.add("input.mean", state.facts.scaling.mean);
  tensors.add("input.scale", state.facts.scaling.scale);
  if (!state.targets.scaling.none()) {
    tensors.add("target.mean", state.targets.scaling.mean);
    tensors.add("target.scale", state.targets.scaling.scale);
  }
  for (std::size_t l = 0; l < state.layers.size(); ++l) {
    const std::string prefix = fmt::format("layers.{}.", l);
    const TrainLayer& layer = state.layers[l];
    add_layer(tensors, prefix, layer);
    metadata[prefix + "by_input"] = fmt::format("{}", layer.by_input ? 1 : 0);
    metadata[prefix + "activation"] = fmt::format("{}", static_cast<int>(layer.activation.kind));
    metadata[prefix + "slope"] = fmt::format("{}", layer.activation.slope);
    metadata[prefix + "threshold"] = fmt::format("{}", layer.threshold);
  }
  for (std::size_t l = 0; l < state.best.size(); ++l)
    add_best(tensors, fmt::format("best.{}.", l), state.best[l]);
  metadata[kSum] = fmt::format("{}", checkpoint_sum(metadata, tensors.views));
  write_safetensors(std::move(target), metadata, tensors.views);
}

TrainState read_checkpoint(Source source, const TrainOptions& defaults) {
  const TensorFile file = read_safetensors(std::move(source));
  if (file.metadata("format") != kFormat)
    fail("{}: is \"{}\", not a {}", file.name(), file.metadata("format"), kFormat);
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : file.tensors())
    views[name] = {tensor.dtype, tensor.shape, std::span<const std::byte>(tensor.bytes)};
  if (file.metadata(kSum) != fmt::format("{}", checkpoint_sum(file.metadata(), views)))
    fail("{}: the file is damaged (its contents do not add up to its sum)", file.name());
  return checkpoint_state(file, defaults);
}

TrainState checkpoint_state(const TensorFile& file, const TrainOptions& defaults) {
  TrainState state;
  state.options = read_settings(file, defaults);
  state.data_fingerprint = number<std::uint64_t>(file, "data");
  state.step = number<std::int64_t>(file, "step");
  state.step_in_epoch = number<std::int64_t>(file, "step_in_epoch");
  if (state.step_in_epoch < 0 || state.step_in_epoch > state.step)
    fail("{}: step {} of its epoch after {} steps", file.name(), state.step_in_epoch, state.step);
  if (state.options.network.neurons.size() < 2) fail("{}: there is no network in it", file.name());
  state.best_score = number<double>(file, "best_accuracy");
  state.best_epoch = number<std::int64_t>(file, "best_epoch");
  if (state.best_epoch < 0 || state.best_epoch > static_cast<std::int64_t>(1) << 53)
    fail("{}: best_epoch is {}", file.name(), state.best_epoch);
  if (file.metadata().contains("simd")) state.simd = file.metadata("simd");
  state.epoch = epoch_from_json(file.metadata("epoch"));
  const std::string& history = file.metadata("history");
  for (std::size_t at = 0; at < history.size();) {
    const std::size_t end = history.find('\n', at);
    state.history.push_back(epoch_from_json(history.substr(at, end - at)));
    at = end == std::string::npos ? history.size() : end + 1;
  }
  const std::size_t scales = file.get<float>("input.scale").size();  // none, one for all, or one per feature
  if (scales > 1 && scales != static_cast<std::size_t>(state.options.network.neurons.front()))
    fail("{}: {} scales for {} inputs", file.name(), scales, state.options.network.neurons.front());
  state.facts.scaling.mean = values<float>(file, "input.mean", scales);
  state.facts.scaling.scale = values<float>(file, "input.scale", scales);
  if (file.contains("target.scale")) {
    const std::size_t outputs = state.options.network.neurons.back();
    state.targets.scaling.mean = values<float>(file, "target.mean", outputs);
    state.targets.scaling.scale = values<float>(file, "target.scale", outputs);
    for (const float scale : state.targets.scaling.scale)
      if (!(scale > 0)) fail("{}: a target's scale is {}", file.name(), scale);
  }
  for (const LayerShape& shape : layout(state.options))
    state.layers.push_back(read_layer(file, state.layers.size(), shape, state));
  if (file.contains("best.0.value"))
    for (std::size_t l = 0; l < state.layers.size(); ++l)
      state.best.push_back(read_best(file, l, state.layers[l]));
  return state;
}

Network network_of(const TrainState& state, Which which) {
  Network::Parts parts;
  parts.facts = state.facts;
  parts.facts.loss = state.options.learning.loss;
  parts.origin = state.origin;
  std::vector<Layer> layers;
  for (std::size_t l = 0; l < state.layers.size(); ++l) {
    Layer layer = which == Which::best ? state.best[l] : to_layer(state.layers[l]);
    if (gives_outputs(state.layers, l)) to_own_units(layer, state.targets.scaling);
    add_layer(layers, parts.exits, state.layers[l], std::move(layer), state.options.network.active_experts);
  }
  return Network(parts.with(std::move(layers), "a network in training"));
}

}  // namespace filigree::internal
