// SPDX-License-Identifier: Apache-2.0
// State dicts of PyTorch as safetensors: 0.weight, fc1.bias, layers.3.running_mean …; also as
// compressed-tensors writes sparse ones, by a bit for each weight.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "interchange/half.h"
#include "interchange/stored_layers.h"
#include "io/message_text.h"
#include "io/safetensors.h"

namespace filigree::internal {

namespace {

using Tensor = TensorFile::Tensor;

template <typename T>
std::vector<double> numbers_as(const Tensor& tensor) {
  std::vector<double> numbers;
  const std::size_t count = tensor.bytes.size() / sizeof(T);
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, tensor.bytes.data() + i * sizeof(T), sizeof(T));
    numbers.push_back(static_cast<double>(value));
  }
  return numbers;
}

std::vector<double> numbers_of(const Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::f32:
      return numbers_as<float>(tensor);
    case DType::f64:
      return numbers_as<double>(tensor);
    case DType::i64:
      return numbers_as<std::int64_t>(tensor);
    case DType::i32:
      return numbers_as<std::int32_t>(tensor);
    case DType::u32:
      return numbers_as<std::uint32_t>(tensor);
    case DType::u16:
      return numbers_as<std::uint16_t>(tensor);
    case DType::u8:
    case DType::boolean:
      return numbers_as<std::uint8_t>(tensor);
    case DType::i8:
      return numbers_as<std::int8_t>(tensor);
    case DType::i16:
      return numbers_as<std::int16_t>(tensor);
    case DType::f16:
    case DType::bf16: {
      std::vector<double> numbers = numbers_as<std::uint16_t>(tensor);
      for (double& number : numbers) {
        const auto bits = static_cast<std::uint16_t>(number);
        number = tensor.dtype == DType::f16 ? half_value(bits) : bfloat_value(bits);
      }
      return numbers;
    }
  }
  return {};
}

// The tensors of one module: {"weight": …, "bias": …}.
using Module = std::map<std::string, const Tensor*>;

constexpr const char* kParts[] = {"weight.compressed",
                                  "weight.bitmask",
                                  "weight.shape",
                                  "weight.row_offsets",
                                  "weight_scale",
                                  "weight_zero_point",
                                  "num_batches_tracked",
                                  "running_mean",
                                  "running_var",
                                  "weight",
                                  "kernel",
                                  "bias"};

class StateDict {
 public:
  StateDict(const TensorFile& file, const ImportOptions& options) : file_(file), options_(options) {}

  Imported read() {
    for (const auto& [name, tensor] : file_.tensors()) sort_in(name, tensor);
    std::vector<std::string> names;
    for (const auto& each : modules_) names.push_back(each.first);
    std::ranges::sort(names, in_natural_order);
    take_activation();
    Flow flow = in_order(names);
    notes_.push_back(activations_note(options_));
    NetworkFacts facts;
    facts.loss = options_.loss;
    return {flow.network(file_.name(), std::move(facts)), ModelForm::state_dict, stored_, zeros_,
            std::move(notes_)};
  }

 private:
  void sort_in(const std::string& name, const Tensor& tensor) {
    for (const char* const part : kParts) {
      if (name == part) {
        modules_[""][part] = &tensor;
        return;
      }
      if (!name.ends_with(std::string(".") + part)) continue;
      modules_[name.substr(0, name.size() - std::strlen(part) - 1)][part] = &tensor;
      return;
    }
    fail(
        "{}: tensor {} belongs to no linear layer and no batch normalisation, which end in .weight, .bias, "
        ".running_mean or .running_var",
        file_.name(), in_quotes(name));
  }

  [[noreturn]] void wrong(const std::string& module, const std::string& what) const {
    fail("{}: {}: {}", file_.name(), module.empty() ? "the layer" : in_quotes(module), what);
  }

  void take_activation() {
    const auto found = file_.metadata().find("activation");
    if (found == file_.metadata().end()) return;
    const auto known = std::ranges::find(kActivationNames, found->second);
    if (known == kActivationNames.end())
      fail("{}: metadata activation is {}", file_.name(), in_quotes(found->second));
    options_.hidden.kind = static_cast<Activation>(known - kActivationNames.begin());
  }

  static bool is_normalization(const Module& module) { return module.contains("running_mean"); }

  // Linear layers and normalisations, one after the other. A normalisation directly behind a linear layer, by
  // its number, comes before the activation; one further behind comes after it.
  Flow in_order(const std::vector<std::string>& names) {
    std::optional<Flow> flow;
    std::size_t linear = 0, seen = 0;
    for (const auto& [name, module] : modules_) linear += is_normalization(module) ? 0 : 1;
    bool open = false;  // the activation of the last linear layer is still to come
    std::string last;
    for (const std::string& name : names) {
      const Module& module = modules_.at(name);
      try {
        if (is_normalization(module)) {
          const Index width =
              module.at("running_mean")->bytes.size() / element_size(module.at("running_mean")->dtype);
          if (!flow) flow.emplace(width);
          if (open && number_of(name) && number_of(last) && *number_of(name) > *number_of(last) + 1) {
            flow = flow->activated(seen < linear ? options_.hidden : options_.last);
            open = false;
          }
          if (!open && seen > 0)
            notes_.push_back(fmt::format("{} normalises what comes out of the activation", in_quotes(name)));
          flow = normalized(*flow, module, name);
          continue;
        }
        if (open) flow = flow->activated(options_.hidden);
        const StoredLayer layer = linear_layer(module, name);
        if (!flow) flow.emplace(layer.weights.cols);
        if (layer.weights.cols != flow->width())
          fail("{} inputs, but {} values come before it (modules are taken in the order of their names)",
               layer.weights.cols, flow->width());
        flow = flow->multiplied(layer.weights, layer.bias);
        open = true;
        last = name;
        ++seen;
      } catch (const Error& error) {
        if (std::string_view(error.what()).starts_with(file_.name())) throw;
        wrong(name, error.what());
      }
    }
    if (seen == 0) fail("{}: no weights", file_.name());
    return open ? flow->activated(options_.last) : *flow;
  }

  // The last number in a name: of layers.3 it is 3.
  static std::optional<int> number_of(const std::string& name) {
    const std::size_t begin = name.find_last_of('.') == std::string::npos ? 0 : name.find_last_of('.') + 1;
    int number = 0;
    const auto [end, status] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
    if (status != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
  }

  StoredLayer linear_layer(const Module& module, const std::string& name) {
    StoredLayer layer{name};
    if (module.contains("weight.compressed")) {
      layer.weights = by_bits(module);
    } else {
      const bool turned = module.contains("kernel");
      const auto found = module.find(turned ? "kernel" : "weight");
      if (found == module.end()) fail("there is no weight");
      const Tensor& tensor = *found->second;
      if (tensor.shape.size() == 1)
        fail(
            "a weight of one dimension without running_mean: normalisation of each row by itself is not "
            "computed here");
      if (tensor.shape.size() != 2)
        fail("a weight of {} dimensions: convolutions are not computed here", tensor.shape.size());
      layer.weights = full(tensor, numbers_of(tensor));
      if (turned) layer.weights = transposed(layer.weights);
    }
    scale(module, layer.weights);
    stored_ += std::ssize(layer.weights.column);
    drop_zeros(layer.weights, options_.keep_zeros, zeros_);
    if (const auto bias = module.find("bias"); bias != module.end()) {
      layer.bias = numbers_of(*bias->second);
      if (std::ssize(layer.bias) != layer.weights.rows)
        fail("{} biases for {} outputs", layer.bias.size(), layer.weights.rows);
    }
    return layer;
  }

  static Weights full(const Tensor& tensor, std::vector<double> values) {
    constexpr std::uint64_t kMostNeurons = 1 << 24;
    if (tensor.shape[0] > kMostNeurons || tensor.shape[1] > kMostNeurons ||
        tensor.shape[0] * tensor.shape[1] == 0)
      fail("a weight of {} × {}", tensor.shape[0], tensor.shape[1]);
    Weights weights{static_cast<Index>(tensor.shape[0]), static_cast<Index>(tensor.shape[1])};
    weights.value = std::move(values);
    for (Index r = 0; r < weights.rows; ++r) {
      for (Index c = 0; c < weights.cols; ++c) weights.column.push_back(c);
      weights.end_row();
    }
    return weights;
  }

  // compressed-tensors' sparse-bitmask: the weights there are, and for each row a bit for each column, the
  // lowest bit of a byte first.
  static Weights by_bits(const Module& module) {
    for (const char* const part : {"weight.bitmask", "weight.shape"})
      if (!module.contains(part)) fail("there is no {}", part);
    const std::vector<double> shape = numbers_of(*module.at("weight.shape"));
    const Tensor& mask = *module.at("weight.bitmask");
    constexpr double kMostNeurons = 1 << 24;
    if (shape.size() != 2 ||
        !(shape[0] >= 1 && shape[1] >= 1 && shape[0] <= kMostNeurons && shape[1] <= kMostNeurons))
      fail("its shape is no pair of outputs and inputs");
    Weights weights{static_cast<Index>(shape[0]), static_cast<Index>(shape[1])};
    const std::size_t bytes = (static_cast<std::size_t>(weights.cols) + 7) / 8;
    if (mask.bytes.size() != bytes * weights.rows)
      fail("a bit mask of {} bytes for {} × {} weights", mask.bytes.size(), weights.rows, weights.cols);
    weights.value = numbers_of(*module.at("weight.compressed"));
    for (Index r = 0; r < weights.rows; ++r) {
      for (std::size_t b = 0; b < bytes; ++b)
        for (auto bits = std::to_integer<unsigned>(mask.bytes.data()[r * bytes + b]); bits != 0;
             bits &= bits - 1) {
          const std::size_t column = 8 * b + std::countr_zero(bits);
          if (column >= static_cast<std::size_t>(weights.cols))
            fail("row {} has a weight in column {} of {}", r, column, weights.cols);
          weights.column.push_back(static_cast<Index>(column));
        }
      weights.end_row();
    }
    if (weights.column.size() != weights.value.size())
      fail("{} bits are set for {} weights", weights.column.size(), weights.value.size());
    return weights;
  }

  // Integers become the numbers that they stand for: (q − zero) · scale, for all weights or for each output.
  void scale(const Module& module, Weights& weights) {
    const auto found = module.find("weight_scale");
    if (found == module.end()) {
      const auto weight = module.find("weight");
      if (weight != module.end() &&
          (weight->second->dtype == DType::i8 || weight->second->dtype == DType::u8))
        fail("whole numbers of 8 bits without a weight_scale that says what they stand for");
      return;
    }
    const std::vector<double> scales = numbers_of(*found->second);
    std::vector<double> zeros = {0};
    if (const auto zero = module.find("weight_zero_point"); zero != module.end())
      zeros = numbers_of(*zero->second);
    for (const std::size_t count : {scales.size(), zeros.size()})
      if (count != 1 && count != static_cast<std::size_t>(weights.rows))
        fail("{} scales or zero points for {} outputs", count, weights.rows);
    for (Index r = 0; r < weights.rows; ++r)
      for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e)
        weights.value[e] =
            (weights.value[e] - zeros[zeros.size() == 1 ? 0 : r]) * scales[scales.size() == 1 ? 0 : r];
  }

  Flow normalized(const Flow& flow, const Module& module, const std::string& name) const {
    const std::vector<double> mean = numbers_of(*module.at("running_mean"));
    if (!module.contains("running_var")) wrong(name, "there is no running_var");
    const std::vector<double> variance = numbers_of(*module.at("running_var"));
    const auto part = [&](const char* which, double otherwise) {
      const auto found = module.find(which);
      return found == module.end() ? std::vector<double>(mean.size(), otherwise) : numbers_of(*found->second);
    };
    const std::vector<double> weight = part("weight", 1), bias = part("bias", 0);
    if (variance.size() != mean.size() || weight.size() != mean.size() || bias.size() != mean.size() ||
        std::ssize(mean) != flow.width())
      fail("{} means, {} variances, {} weights and {} biases for {} values", mean.size(), variance.size(),
           weight.size(), bias.size(), flow.width());
    std::vector<double> scale, shift;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      scale.push_back(weight[i] / std::sqrt(variance[i] + options_.epsilon));
      shift.push_back(bias[i] - mean[i] * scale[i]);
    }
    return flow.scaled(scale, shift);
  }

  const TensorFile& file_;
  ImportOptions options_;
  std::map<std::string, Module> modules_;
  std::vector<std::string> notes_;
  Offset stored_ = 0, zeros_ = 0;
};

}  // namespace

Imported read_state_dict(Source source, const ImportOptions& options) {
  const TensorFile file = read_safetensors(std::move(source));
  return StateDict(file, options).read();
}

void write_state_dict(Target target, const Network& network, const ExportOptions&) {
  const std::vector<LayerPointer> layers = plain_layers(network, "a state dict");
  if (!network.facts().scaling.none())
    fail("a state dict has no place for the scaling of inputs: export ONNX, or fold it by compiling");
  std::map<std::string, TensorView> tensors;
  std::vector<std::vector<float>> kept;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const CsrMatrix& weights = layers[l]->weights;
    std::vector<float>& full = kept.emplace_back(std::size_t{1} * weights.rows * weights.cols, 0.0f);
    for (Index r = 0; r < weights.rows; ++r)
      for (Offset e = weights.row_begin[r]; e < weights.row_begin[r + std::size_t{1}]; ++e)
        full[std::size_t{1} * r * weights.cols + weights.column[e]] = weights.value[e];
    tensors[fmt::format("{}.weight", 2 * l)] =
        tensor_view(std::span<const float>(full),
                    {static_cast<std::uint64_t>(weights.rows), static_cast<std::uint64_t>(weights.cols)});
    tensors[fmt::format("{}.bias", 2 * l)] = tensor_view(std::span<const float>(layers[l]->bias));
  }
  write_safetensors(std::move(target), {{"format", "pt"}}, tensors);
}

}  // namespace filigree::internal
