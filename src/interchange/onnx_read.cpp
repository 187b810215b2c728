// SPDX-License-Identifier: Apache-2.0
// What the nodes of an ONNX graph do to rows, as layers: products, scalings and activations go into a Flow,
// shapes are followed, and what comes after the outputs' sums (softmax, the choice of a class) becomes what
// the network says of its outputs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "interchange/interchange.h"
#include "interchange/onnx_value.h"
#include "io/message_text.h"
#include "network/model_file.h"

namespace filigree::internal {

namespace {

class GraphReader {
 public:
  GraphReader(const OnnxModel& model, const ImportOptions& options) : model_(model), options_(options) {}

  Imported read() {
    std::set<std::string> constant;
    for (const OnnxTensor& tensor : model_.tensors) {
      values_[tensor.name] = constant_value(tensor);
      constant.insert(tensor.name);
    }
    std::vector<const OnnxPort*> inputs;
    for (const OnnxPort& port : model_.inputs)
      if (!constant.contains(port.name)) inputs.push_back(&port);  // older models list constants as well
    if (inputs.size() != 1) fail("{} inputs, but a network of layers has one", inputs.size());
    input_ = inputs.front();
    if (input_->dims && !input_->dims->empty()) begin(*input_->dims);
    if (!values_.contains(input_->name)) {
      const std::optional<std::int64_t> width = first_width();
      if (!width) fail("the model does not say how many inputs it has");
      begin({kRows, *width});
    }
    for (const OnnxNode& node : model_.nodes) run(node);
    return result();
  }

 private:
  // The inputs of the network: rows are the first dimension, unless there is only one dimension.
  void begin(Dims dims) {
    Value value{Value::Kind::flow};
    value.single_row = dims.size() < 2 || dims[0] == 1;
    if (dims.size() > 1) dims[0] = kRows;
    if (std::ranges::count_if(dims, [](std::int64_t d) { return d < 0; }) > (dims.size() > 1 ? 1 : 0)) return;
    if (width_of(dims) < 1 || width_of(dims) > (1 << 24)) fail("rows of {} inputs", width_of(dims));
    value.flow = std::make_shared<const Flow>(static_cast<Index>(width_of(dims)));
    value.dims = std::move(dims);
    values_[input_->name] = std::move(value);
  }

  // The width that the first product or array of constants gives to inputs whose shape the file leaves open.
  std::optional<std::int64_t> first_width() const {
    std::string name = input_->name;
    for (const OnnxNode& node : model_.nodes) {
      if (std::ranges::find(node.inputs, name) == node.inputs.end()) continue;
      for (const std::string& other : node.inputs) {
        const auto found = values_.find(other);
        if (found == values_.end() || found->second.constant->dims.empty()) continue;
        const Dims& dims = found->second.constant->dims;
        const bool by_column = (node.type == "Gemm" || node.type == "MatMul") && node.whole("transB", 0) == 0;
        const std::int64_t width = by_column && dims.size() == 2 ? dims[0] : dims.back();
        if (width > 1) return width;
      }
      if (node.outputs.empty()) return std::nullopt;
      name = node.outputs.front();
    }
    return std::nullopt;
  }

  // What all nodes together make of a row: a few bytes of a file must not take all memory.
  void spend(std::int64_t values) {
    constexpr std::int64_t kMost = std::int64_t{1} << 27;
    spent_ += values;
    if (spent_ > kMost) fail("{} values in the graph for each row", spent_);
  }

  static std::string described(const OnnxNode& node) {
    const std::string name = !node.name.empty()     ? node.name
                             : node.outputs.empty() ? ""
                                                    : node.outputs.front();
    return fmt::format("node {} ({})", in_quotes(name), node.type);
  }

  void run(const OnnxNode& node) {
    if (node.outputs.empty()) return;
    Value made;
    try {
      made = computed(node);
      if (made.flow != nullptr && made.kind == Value::Kind::flow) spend(made.flow->width());
    } catch (const Error& error) {
      made = {};
      made.why = fmt::format("{}: {}", described(node), error.what());
    }
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      if (node.outputs[o].empty()) continue;
      if (values_.contains(node.outputs[o]))
        fail("{}: {} has been computed before", described(node), in_quotes(node.outputs[o]));
      if (o == 0) {
        values_[node.outputs[o]] = made;
      } else if (const auto other = others_.find(o); other != others_.end()) {
        values_[node.outputs[o]] = other->second;
      }
    }
    others_.clear();
  }

  Value computed(const OnnxNode& node) {
    std::vector<const Value*> inputs;
    std::vector<const OnnxTensor*> constants;
    bool all_constant = true;
    for (const std::string& name : node.inputs) {
      const Value* value = nullptr;
      if (!name.empty()) {
        const auto found = values_.find(name);
        if (found == values_.end())
          fail("its input {} is computed by no node before it, and is no input or constant of the graph",
               in_quotes(name));
        value = &found->second;
        if (value->kind == Value::Kind::failed) return *value;
        all_constant &= value->kind == Value::Kind::constant;
      }
      inputs.push_back(value);
      constants.push_back(value == nullptr ? nullptr : value->constant.get());
    }
    if (!node.domain.empty() && node.domain != "ai.onnx" && node.domain != "ai.onnx.ml" &&
        node.domain != "com.microsoft")
      return unsupported(node);
    if (all_constant)
      if (std::optional<OnnxTensor> result = constant_result(node, constants, model_.opset))
        return constant_value(std::move(*result));
    const auto found = operators().find(node.type);
    if (found == operators().end() || inputs.empty() || inputs[0] == nullptr) return unsupported(node);
    return found->second(*this, node, inputs);
  }

  [[noreturn]] static Value unsupported(const OnnxNode& node) {
    static const std::map<std::string_view, const char*> known_advice = {
        {"Conv", "convolutions are not computed here: only multi-layer perceptrons are"},
        {"ConvTranspose", "convolutions are not computed here: only multi-layer perceptrons are"},
        {"MaxPool", "pooling belongs to convolutions, which are not computed here"},
        {"AveragePool", "pooling belongs to convolutions, which are not computed here"},
        {"LSTM", "recurrent layers are not computed here"},
        {"GRU", "recurrent layers are not computed here"},
        {"RNN", "recurrent layers are not computed here"},
        {"If", "graphs that branch are not computed here: export the model for inference"},
        {"Loop", "graphs with loops are not computed here"},
        {"Scan", "graphs with loops are not computed here"},
        {"LayerNormalization", "normalisation of each row by itself is not computed here"},
        {"TreeEnsembleClassifier", "trees are not networks of layers"},
        {"TreeEnsembleRegressor", "trees are not networks of layers"},
        {"Elu", "known activations are Relu, LeakyRelu, Clip, Sigmoid, Tanh and Softplus"},
        {"Selu", "known activations are Relu, LeakyRelu, Clip, Sigmoid, Tanh and Softplus"},
        {"Gelu", "known activations are Relu, LeakyRelu, Clip, Sigmoid, Tanh and Softplus"},
        {"Mish", "known activations are Relu, LeakyRelu, Clip, Sigmoid, Tanh and Softplus"},
        {"HardSwish", "known activations are Relu, LeakyRelu, Clip, Sigmoid, Tanh and Softplus"}};
    const auto advice = known_advice.find(node.type);
    if (advice != known_advice.end()) fail("{}", advice->second);
    fail("this operator{} is not known here; docs/BRING.md lists those that are",
         node.domain.empty() ? "" : fmt::format(" of the domain {}", in_quotes(node.domain)));
  }

  // ---- products

  Weights matrix(const OnnxTensor& tensor, bool turned) {
    OnnxTensor two = tensor;
    while (two.dims.size() > 2 && two.dims.front() == 1) two.dims.erase(two.dims.begin());
    if (two.dims.size() != 2) fail("a product with an array of {} dimensions", two.dims.size());
    stored_ += std::ssize(two.values);
    return weights_of(turned ? transposed(two, {1, 0}) : two, options_.keep_zeros, zeros_);
  }

  Value product_of(const Value& a, const Value& b, bool turn_a, bool turn_b) {
    if (a.kind == Value::Kind::constant) {
      // W · x: rows are columns of x.
      Value x = needs_flow(b);
      if (turn_b) x = turned(x, {1, 0});
      if (x.dims.size() < 2) return times(x, matrix(*a.constant, turn_a), 0);
      return times(x, matrix(*a.constant, turn_a), x.dims.size() - 2);
    }
    Value x = needs_flow(a);
    if (b.kind != Value::Kind::constant) fail("values of the rows are multiplied with each other");
    if (turn_a) x = turned(x, {1, 0});
    if (x.dims.empty()) fail("a product with a single number");
    if (b.constant->dims.size() == 1) {
      OnnxTensor column = *b.constant;
      column.dims.push_back(1);
      Value result = times(x, matrix(column, true), x.dims.size() - 1);
      result.dims.pop_back();
      return result;
    }
    return times(x, matrix(*b.constant, !turn_b), x.dims.size() - 1);
  }

  Value gemm(const OnnxNode& node, Inputs inputs) {
    if (inputs.size() < 2 || inputs[1] == nullptr) fail("it has one input");
    Value y = product_of(*inputs[0], *inputs[1], node.whole("transA", 0) != 0, node.whole("transB", 0) != 0);
    if (const double alpha = node.number("alpha", 1); alpha != 1)
      y = flow_value(y.flow->scaled({alpha}, {}), y.dims, y);
    if (inputs.size() < 3 || inputs[2] == nullptr) return y;
    OnnxTensor bias = dense(needs_constant(inputs, 2, "third input"));
    for (double& value : bias.values) value *= node.number("beta", 1);
    return shifted(y, bias, 1);
  }

  // ---- one number for each value

  Value arithmetic(const OnnxNode& node, Inputs inputs) {
    if (inputs.size() != 2 || inputs[1] == nullptr) fail("{} inputs", inputs.size());
    const Value &a = *inputs[0], &b = *inputs[1];
    const bool first = a.kind == Value::Kind::constant;
    if (a.kind == Value::Kind::scale || b.kind == Value::Kind::scale) return with_scale(node, a, b);
    if (!first && b.kind != Value::Kind::constant)
      fail("values of the rows meet each other: networks that branch and join are not computed here");
    const Value& x = needs_flow(first ? b : a);
    const OnnxTensor& constant = *(first ? a : b).constant;
    if (node.type == "Add") return shifted(x, constant, 1);
    if (node.type == "Mul") return stretched(x, constant, false);
    if (node.type == "Sub") {
      if (!first) return shifted(x, constant, -1);
      return shifted(flow_value(x.flow->scaled({-1}, {}), x.dims, x), constant, 1);
    }
    if (first) fail("a constant divided by values of the rows");
    return stretched(x, constant, true);
  }

  // Products with a scale that each batch has anew: those of integers that were made with it.
  Value with_scale(const OnnxNode& node, const Value& a, const Value& b) {
    const Value& scale = a.kind == Value::Kind::scale ? a : b;
    const Value& other = a.kind == Value::Kind::scale ? b : a;
    if (node.type != "Mul") fail("a scale of integers is added or divided");
    if (other.kind == Value::Kind::constant) {
      Value result = scale;
      const OnnxTensor full = dense(*other.constant);
      if (full.values.size() == 1) {
        result.factor *= full.values[0];
      } else {
        if (scale.constant) fail("two scales");
        result.constant = std::make_shared<const OnnxTensor>(full);
      }
      return result;
    }
    const Value& x = needs_flow(other);
    if (x.unit != scale.unit) fail("integers are multiplied by the scale of others");
    Value result = flow_value(x.flow->scaled({scale.factor}, {}), x.dims, x);
    if (scale.constant) result = stretched(result, *scale.constant, false);
    result.unit = 0;
    return result;
  }

  Value batch_normalization(const OnnxNode& node, Inputs inputs) {
    const Value& x = needs_flow(*inputs[0]);
    if (node.whole("training_mode", 0) != 0) fail("it is in training mode: export the model for inference");
    const std::size_t axis = x.dims.size() > 1 ? 1 : 0;
    std::array<OnnxTensor, 4> given;
    for (std::size_t i = 0; i < 4; ++i) given[i] = dense(needs_constant(inputs, i + 1, "parameter"));
    OnnxTensor scale = given[0], shift = given[1];
    for (std::size_t c = 0; c < scale.values.size(); ++c) {
      const double deviation = std::sqrt(given[3].values.at(c) + node.number("epsilon", 1e-5F));
      scale.values[c] = given[0].values[c] / deviation;
      shift.values.at(c) = given[1].values[c] - given[2].values.at(c) * scale.values[c];
    }
    for (OnnxTensor* const each : {&scale, &shift}) {
      each->dims.assign(x.dims.size(), 1);
      each->dims.at(axis) = std::ssize(each->values);
    }
    if (std::ssize(scale.values) != x.dims.at(axis))
      fail("{} channels, but values of shape {}", scale.values.size(), text_of(x.dims));
    return shifted(stretched(x, scale, false), shift, 1);
  }

  Value scaler(const OnnxNode& node, Inputs inputs) {
    Value x = needs_flow(*inputs[0]);
    const auto row = [&](const char* attribute) {
      OnnxTensor tensor;
      if (const OnnxAttribute* const found = node.find(attribute)) tensor.values = found->numbers;
      tensor.dims = {std::ssize(tensor.values)};
      return tensor;
    };
    if (const OnnxTensor offset = row("offset"); !offset.values.empty()) x = shifted(x, offset, -1);
    if (const OnnxTensor scale = row("scale"); !scale.values.empty()) x = stretched(x, scale, false);
    return x;
  }

  // ---- activations

  Value activation(const OnnxNode& node, Inputs inputs) {
    const Value& x = needs_flow(*inputs[0]);
    if (x.unit != 0) fail("an activation of integers whose scale is not known");
    const auto done = [&](Flow flow) { return flow_value(std::move(flow), x.dims, x); };
    const std::string& type = node.type;
    const auto limit = [&](std::size_t i, const char* attribute, double otherwise) {
      if (i < inputs.size() && inputs[i] != nullptr)
        return single(needs_constant(inputs, i, "limit"), "limit");
      return node.number(attribute, otherwise);
    };
    if (type == "Relu") return done(x.flow->activated(Activation::relu));
    if (type == "Sigmoid") return done(x.flow->activated(Activation::sigmoid));
    if (type == "Tanh") return done(x.flow->activated(Activation::tanh));
    if (type == "Softplus") return done(x.flow->activated(Activation::softplus));
    if (type == "LeakyRelu")
      return done(
          x.flow->activated(ActivationFunction::leaky(static_cast<float>(node.number("alpha", 0.01F)))));
    if (type == "PRelu")
      return done(x.flow->activated(ActivationFunction::leaky(
          static_cast<float>(single(needs_constant(inputs, 1, "slope"), "slope")))));
    if (type == "HardSigmoid")
      return done(x.flow->scaled({node.number("alpha", 0.2F)}, {node.number("beta", 0.5F)}).clipped(0, 1));
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (type == "Clip") {
      // Models for older operator sets say "no limit" by the largest float.
      double least = limit(1, "min", -kInfinity), most = limit(2, "max", kInfinity);
      if (least <= -static_cast<double>(std::numeric_limits<float>::max())) least = -kInfinity;
      if (most >= static_cast<double>(std::numeric_limits<float>::max())) most = kInfinity;
      return done(x.flow->clipped(least, most));
    }
    const std::size_t other = inputs[0]->kind == Value::Kind::constant ? 0 : 1;
    const double bound = single(needs_constant(inputs, other, "limit"), "limit");
    return done(type == "Max" ? x.flow->clipped(bound, kInfinity) : x.flow->clipped(-kInfinity, bound));
  }

  // Is each value larger than a number? Of use for one thing: exporters of PyTorch write softplus as itself
  // up to a threshold and as the value above, where both are the same.
  Value larger(const OnnxNode&, Inputs inputs) {
    Value x = needs_flow(*inputs[0]);
    x.factor = single(needs_constant(inputs, 1, "bound"), "bound");
    x.kind = Value::Kind::large;
    return x;
  }
  Value chosen_by_size(const OnnxNode&, Inputs inputs) {
    constexpr double kAlike = 17;  // log(1 + exp(−17)) is less than the rounding of 17 in 32 bits
    if (inputs.size() == 3 && inputs[1] != nullptr && inputs[2] != nullptr &&
        inputs[0]->kind == Value::Kind::large && inputs[0]->factor >= kAlike) {
      const Value &sums = needs_flow(*inputs[1]), &curve = needs_flow(*inputs[2]);
      if (inputs[0]->flow->same(*sums.flow) && sums.flow->activated(Activation::softplus).same(*curve.flow))
        return curve;
    }
    fail("a choice between values that is no softplus: it is not computed here");
  }

  // ---- shapes

  Value shape_change(const OnnxNode& node, Inputs inputs) {
    const Value& x = *inputs[0];
    if (x.kind == Value::Kind::probabilities || x.kind == Value::Kind::label) return x;
    needs_flow(x);
    const std::string& type = node.type;
    if (type == "Transpose") {
      Dims order(x.dims.size());
      std::iota(order.rbegin(), order.rend(), 0);
      if (const OnnxAttribute* const perm = node.find("perm")) order = perm->wholes;
      return turned(x, order);
    }
    if (type == "Reshape") {
      const OnnxAttribute* const shape = inputs.size() < 2 ? node.find("shape") : nullptr;
      return reshaped(x,
                      shape != nullptr ? shape->wholes : whole_numbers(needs_constant(inputs, 1, "shape")));
    }
    if (type == "Flatten") {
      const std::int64_t axis = node.whole("axis", 1);
      const std::size_t at =
          axis == static_cast<std::int64_t>(x.dims.size()) ? x.dims.size() : axis_of(axis, x.dims.size());
      const auto first = std::span(x.dims).first(at), rest = std::span(x.dims).subspan(at);
      const bool rows_first =
          std::ranges::find(first, kRows) != first.end() && width_of({first.begin(), first.end()}) == 1;
      if (!rows_first && !(x.single_row && at == 0))
        fail("values of shape {} are flattened at dimension {}", text_of(x.dims), at);
      return flow_value(*x.flow, {kRows, width_of({rest.begin(), rest.end()})}, x);
    }
    std::optional<Dims> axes;
    if (const OnnxAttribute* const attribute = node.find("axes")) axes = attribute->wholes;
    if (inputs.size() > 1 && inputs[1] != nullptr) axes = whole_numbers(needs_constant(inputs, 1, "axes"));
    Dims dims;
    if (type == "Unsqueeze") {
      if (!axes) fail("it has no axes");
      dims.assign(x.dims.size() + axes->size(), 0);
      for (const std::int64_t axis : *axes) dims[axis_of(axis, dims.size())] = 1;
      auto next = x.dims.begin();
      for (std::int64_t& dim : dims)
        if (dim == 0) dim = *next++;
    } else {
      for (std::size_t d = 0; d < x.dims.size(); ++d) {
        const bool goes =
            axes ? std::ranges::any_of(*axes, [&](std::int64_t a) { return axis_of(a, x.dims.size()) == d; })
                 : x.dims[d] == 1;
        if (goes && x.dims[d] != 1 && !(x.dims[d] == kRows && x.single_row))
          fail("dimension {} of {} goes", d, text_of(x.dims));
        if (!goes) dims.push_back(x.dims[d]);
      }
    }
    return flow_value(*x.flow, dims, x);
  }

  static Value unchanged(const OnnxNode&, Inputs inputs) { return *inputs[0]; }

  // The shape of the values, as a constant: the number of rows is none.
  static Value shape(const OnnxNode&, Inputs inputs) {
    const Value& x = needs_flow(*inputs[0]);
    OnnxTensor tensor;
    tensor.type = OnnxType::int64;
    for (const std::int64_t dim : x.dims)
      tensor.values.push_back(dim == kRows ? kRowCount : static_cast<double>(dim));
    tensor.dims = {std::ssize(tensor.values)};
    return constant_value(std::move(tensor));
  }

  // ---- integers

  Quantization steps_of(Inputs inputs, std::size_t scale, std::size_t zero) const {
    Quantization steps;
    steps.scale = single(needs_constant(inputs, scale, "scale"), "scale");
    if (zero < inputs.size() && inputs[zero] != nullptr)
      steps.zero = single(needs_constant(inputs, zero, "zero point"), "zero point");
    if (!(steps.scale > 0) || !std::isfinite(steps.scale)) fail("a scale of {}", steps.scale);
    return steps;
  }

  void say_in_floats() {
    if (std::exchange(said_floats_, true)) return;
    notes_.emplace_back(
        "integers are computed as the numbers they stand for, in 32-bit floats: nothing is rounded to "
        "integers between layers");
  }

  // What is left when integers become numbers again: values beyond the range that integers have.
  Value quantized(const Value& x, const Quantization& steps, OnnxType type) {
    say_in_floats();
    const bool with_sign = type == OnnxType::int8 || type == OnnxType::int16;
    const double values = type == OnnxType::uint16 || type == OnnxType::int16 ? 65536 : 256;
    const double least = with_sign ? -values / 2 : 0, most = least + values - 1;
    const bool of_inputs = x.flow.get() == inputs_flow_.get();
    if (of_inputs)
      notes_.emplace_back(fmt::format("inputs outside {:.6g} to {:.6g} are not cut off",
                                      (least - steps.zero) * steps.scale, (most - steps.zero) * steps.scale));
    Value y = x;
    if (!of_inputs)
      y = flow_value(x.flow->clipped((least - steps.zero) * steps.scale, (most - steps.zero) * steps.scale),
                     x.dims, x);
    y.steps = steps;
    return y;
  }

  static OnnxType type_of(Inputs inputs, std::size_t zero) {
    return zero < inputs.size() && inputs[zero] != nullptr && inputs[zero]->constant
               ? inputs[zero]->constant->type
               : OnnxType::uint8;
  }

  Value quantize(const OnnxNode&, Inputs inputs) {
    const Value& x = needs_flow(*inputs[0]);
    if (!inputs_flow_ && x.dims == values_.at(input_->name).dims)
      inputs_flow_ = values_.at(input_->name).flow;
    return quantized(x, steps_of(inputs, 1, 2), type_of(inputs, 2));
  }

  Value dequantize(const OnnxNode&, Inputs inputs) {
    Value x = needs_flow(*inputs[0]);
    const Quantization steps = steps_of(inputs, 1, 2);
    if (!x.steps) fail("numbers that are no integers are taken for some");
    if (!(*x.steps == steps))  // integers are the same, what they stand for is not
      x = flow_value(
          x.flow->scaled({steps.scale / x.steps->scale}, {(x.steps->zero - steps.zero) * steps.scale}),
          x.dims, x);
    x.steps.reset();
    return x;
  }

  // (q − zero) · scale of constant integers; scale and zero may be one for each column.
  OnnxTensor dequantized_constant(Inputs inputs, std::size_t matrix, std::size_t scale, std::size_t zero) {
    OnnxNode node;
    node.type = "DequantizeLinear";
    OnnxAttribute axis;
    axis.name = "axis";
    axis.whole = -1;
    node.attributes.push_back(axis);
    OnnxTensor one;
    one.values = {1};
    const OnnxTensor* const parts[] = {&needs_constant(inputs, matrix, "matrix"),
                                       scale == 0 ? &one : &needs_constant(inputs, scale, "scale"),
                                       zero < inputs.size() && inputs[zero] != nullptr
                                           ? &needs_constant(inputs, zero, "zero point")
                                           : nullptr};
    return *constant_result(node, parts, model_.opset);
  }

  Value qlinear_product(const OnnxNode& node, Inputs inputs) {
    Value x = needs_flow(*inputs[0]);
    if (!x.steps || !(*x.steps == steps_of(inputs, 1, 2)))
      fail("its input is not made of integers of that scale");
    x.steps.reset();
    const bool with_bias = node.type == "QGemm";
    OnnxTensor weights = dequantized_constant(inputs, 3, 4, 5);
    if (node.whole("transB", 0) != 0) fail("its matrix is transposed");
    Value y = product_of(x, constant_value(weights), false, false);
    if (with_bias && inputs.size() > 6 && inputs[6] != nullptr) {
      const double scale = single(needs_constant(inputs, 1, "scale"), "scale");
      OnnxTensor bias = dense(needs_constant(inputs, 6, "bias"));
      const OnnxTensor scales = dense(needs_constant(inputs, 4, "scale"));
      for (std::size_t i = 0; i < bias.values.size(); ++i)
        bias.values[i] *= scale * scales.values[scales.values.size() == 1 ? 0 : i];
      y = shifted(y, bias, 1);
    }
    const std::size_t at = with_bias ? 7 : 6;
    if (inputs.size() <= at || inputs[at] == nullptr) return y;
    return quantized(y, steps_of(inputs, at, at + 1), type_of(inputs, at + 1));
  }

  Value integer_product(const OnnxNode&, Inputs inputs) {
    say_in_floats();
    Value x = needs_flow(*inputs[0]);
    if (x.steps) x = flow_value(x.flow->scaled({1 / x.steps->scale}, {}), x.dims, x);  // q − zero
    if (!x.steps && x.unit == 0 && inputs.size() > 2 && inputs[2] != nullptr)  // integers as they come
      x = shifted(x, dense(needs_constant(inputs, 2, "zero point")), -1);
    x.steps.reset();
    return product_of(x, constant_value(dequantized_constant(inputs, 1, 0, 3)), false, false);
  }

  Value dynamic_quantize(const OnnxNode&, Inputs inputs) {
    say_in_floats();
    Value y = needs_flow(*inputs[0]);
    y.unit = ++units_;
    Value scale{Value::Kind::scale};
    scale.unit = y.unit;
    OnnxTensor zero;
    zero.values = {0};
    others_[1] = scale;
    others_[2] = constant_value(zero);
    return y;
  }

  // ---- what comes after the last sums

  Value softmax(const OnnxNode& node, Inputs inputs) {
    Value x = needs_flow(*inputs[0]);
    const bool whole_rows = model_.opset < 13;  // from an axis on, by default the second
    const std::size_t axis =
        axis_of(node.whole("axis", whole_rows ? 1 : -1), std::max<std::size_t>(1, x.dims.size()));
    const std::int64_t over = whole_rows ? product(std::span(x.dims).subspan(axis)) : x.dims.at(axis);
    if (over != x.flow->width()) fail("it goes over {} of {} values", over, x.flow->width());
    x.kind = Value::Kind::probabilities;
    x.loss = Loss::cross_entropy;
    return x;
  }

  Value chosen(const OnnxNode&, Inputs inputs) {
    Value x = *inputs[0];
    if (x.kind != Value::Kind::probabilities) needs_flow(x);
    x.kind = Value::Kind::label;
    return x;
  }

  Value named(const OnnxNode& node, Inputs inputs) {
    Value x = *inputs[0];
    for (const char* const attribute : {"classlabels_strings", "classlabels_int64s"})
      if (const OnnxAttribute* const found = node.find(attribute)) {
        x.names = found->texts;
        for (const std::int64_t number : found->wholes) x.names.push_back(std::to_string(number));
      }
    return x;
  }

  // The name of the class that was chosen, from a list.
  Value looked_up(const OnnxNode& node, Inputs inputs) {
    if (inputs.size() < 2 || inputs[1] == nullptr) fail("{} inputs", inputs.size());
    if (inputs[0]->kind == Value::Kind::constant && inputs[1]->kind == Value::Kind::label) {
      Value x = *inputs[1];
      x.names = inputs[0]->constant->texts;
      for (const double value : inputs[0]->constant->values) x.names.push_back(fmt::format("{}", value));
      return x;
    }
    const Value& x = needs_flow(*inputs[0]);
    const OnnxTensor indices = dense(needs_constant(inputs, 1, "list of indices"));
    const std::size_t axis = axis_of(node.type == "Gather" ? node.whole("axis", 0) : -1, x.dims.size());
    if (width_of(x.dims) != x.dims[axis] || indices.dims.size() > 1)
      fail("values are gathered along axis {}", axis);
    std::vector<Index> from;
    for (const double index : indices.values) {
      const double at = index < 0 ? index + static_cast<double>(x.dims[axis]) : index;
      if (!(at >= 0 && at < static_cast<double>(x.dims[axis]))) fail("value {} of {}", index, x.dims[axis]);
      from.push_back(static_cast<Index>(at));
    }
    Dims dims = x.dims;
    dims[axis] = std::ssize(from);
    return flow_value(x.flow->selected(from), dims, x);
  }

  // 1 − p and p, of one output.
  Value two_classes(const OnnxNode&, Inputs inputs) {
    if (inputs.size() == 2 && inputs[1] != nullptr && inputs[0]->kind == Value::Kind::flow &&
        inputs[1]->kind == Value::Kind::flow && inputs[0]->flow->is_one_minus(*inputs[1]->flow)) {
      Value x = *inputs[1];
      x.kind = Value::Kind::probabilities;
      x.loss = Loss::binary_cross_entropy;
      x.names = {"0", "1"};
      return x;
    }
    fail("values of the rows are put side by side: networks that branch and join are not computed here");
  }

  using Operator = std::function<Value(GraphReader&, const OnnxNode&, Inputs)>;
  static const std::map<std::string_view, Operator>& operators() {
    const auto of = [](Value (GraphReader::*method)(const OnnxNode&, Inputs)) -> Operator {
      return [method](GraphReader& reader, const OnnxNode& node, Inputs inputs) {
        return (reader.*method)(node, inputs);
      };
    };
    const auto plain = [](Value (*function)(const OnnxNode&, Inputs)) -> Operator {
      return [function](GraphReader&, const OnnxNode& node, Inputs inputs) { return function(node, inputs); };
    };
    static const std::map<std::string_view, Operator> known = {
        {"Gemm", of(&GraphReader::gemm)},
        {"MatMul",
         [](GraphReader& reader, const OnnxNode&, Inputs inputs) {
           if (inputs.size() != 2 || inputs[1] == nullptr) fail("{} inputs", inputs.size());
           return reader.product_of(*inputs[0], *inputs[1], false, false);
         }},
        {"Add", of(&GraphReader::arithmetic)},
        {"Sub", of(&GraphReader::arithmetic)},
        {"Mul", of(&GraphReader::arithmetic)},
        {"Div", of(&GraphReader::arithmetic)},
        {"Neg",
         [](GraphReader&, const OnnxNode&, Inputs inputs) {
           const Value& x = needs_flow(*inputs[0]);
           return flow_value(x.flow->scaled({-1}, {}), x.dims, x);
         }},
        {"BatchNormalization", of(&GraphReader::batch_normalization)},
        {"Scaler", of(&GraphReader::scaler)},
        {"Relu", of(&GraphReader::activation)},
        {"LeakyRelu", of(&GraphReader::activation)},
        {"PRelu", of(&GraphReader::activation)},
        {"Clip", of(&GraphReader::activation)},
        {"Sigmoid", of(&GraphReader::activation)},
        {"HardSigmoid", of(&GraphReader::activation)},
        {"Tanh", of(&GraphReader::activation)},
        {"Softplus", of(&GraphReader::activation)},
        {"Greater", of(&GraphReader::larger)},
        {"Where", of(&GraphReader::chosen_by_size)},
        {"Max", of(&GraphReader::activation)},
        {"Min", of(&GraphReader::activation)},
        {"Flatten", of(&GraphReader::shape_change)},
        {"Reshape", of(&GraphReader::shape_change)},
        {"Squeeze", of(&GraphReader::shape_change)},
        {"Unsqueeze", of(&GraphReader::shape_change)},
        {"Transpose", of(&GraphReader::shape_change)},
        {"Identity", plain(&GraphReader::unchanged)},
        {"Dropout", plain(&GraphReader::unchanged)},
        {"Cast", plain(&GraphReader::unchanged)},
        {"Shape", plain(&GraphReader::shape)},
        {"QuantizeLinear", of(&GraphReader::quantize)},
        {"DequantizeLinear", of(&GraphReader::dequantize)},
        {"QLinearMatMul", of(&GraphReader::qlinear_product)},
        {"QGemm", of(&GraphReader::qlinear_product)},
        {"MatMulInteger", of(&GraphReader::integer_product)},
        {"DynamicQuantizeLinear", of(&GraphReader::dynamic_quantize)},
        {"Softmax", of(&GraphReader::softmax)},
        {"LogSoftmax", of(&GraphReader::softmax)},
        {"ArgMax", of(&GraphReader::chosen)},
        {"ZipMap", of(&GraphReader::named)},
        {"ArrayFeatureExtractor", of(&GraphReader::looked_up)},
        {"Gather", of(&GraphReader::looked_up)},
        {"Concat", of(&GraphReader::two_classes)},
    };
    return known;
  }

  // The output that says most: probabilities, then numbers, then a class; names may come from another.
  Imported result() {
    const Value* best = nullptr;
    std::vector<std::string> names;
    const auto rank = [](const Value& value) {
      switch (value.kind) {
        case Value::Kind::probabilities:
          return 3;
        case Value::Kind::flow:
          return 2;
        case Value::Kind::label:
          return 1;
        case Value::Kind::constant:
        case Value::Kind::scale:
        case Value::Kind::large:
        case Value::Kind::failed:
          break;
      }
      return 0;
    };
    std::size_t usable = 0;
    for (const OnnxPort& port : model_.outputs) {
      const auto found = values_.find(port.name);
      if (found == values_.end()) fail("no node computes the output {}", in_quotes(port.name));
      usable += rank(found->second) > 1 ? 1 : 0;
      if (!found->second.names.empty()) names = found->second.names;
      if (best == nullptr || rank(found->second) > rank(*best)) best = &found->second;
    }
    if (best == nullptr) fail("the graph has no output");
    if (best->kind == Value::Kind::failed) fail("{}", best->why);
    if (rank(*best) == 0) fail("its output does not depend on its input");
    if (usable > 1) notes_.emplace_back(fmt::format("of {} outputs only the first is computed", usable));
    NetworkFacts facts;
    facts.loss = best->loss;
    facts.output_names = names;
    read_facts(model_.metadata, model_.name, facts);
    if (options_.loss) facts.loss = options_.loss;
    return {finished(*best, std::move(facts)), ModelForm::onnx, stored_, zeros_, std::move(notes_)};
  }

  Network finished(const Value& value, NetworkFacts facts) {
    if (value.steps) say_in_floats();
    const Network network = value.flow->network(model_.name, {});
    std::vector<LayerPointer> layers = all_layers(network);
    const bool sigmoid = layers.back()->activation.is(Activation::sigmoid);
    if (value.loss == Loss::cross_entropy && !options_.loss)
      notes_.emplace_back(
          "the softmax at the end is left to predictions: the network's own outputs are what goes into it");
    if (!facts.loss && sigmoid) facts.loss = Loss::binary_cross_entropy;
    if (facts.loss == Loss::binary_cross_entropy && sigmoid) {
      auto last = std::make_shared<Layer>(*layers.back());
      last->activation = Activation::identity;
      layers.back() = std::move(last);
      notes_.emplace_back(
          "the sigmoid at the end is left to predictions: the network's own outputs are what goes into it");
    }
    if (!facts.loss && network.outputs() == 1) facts.loss = Loss::squared;
    const std::size_t outputs = network.outputs();
    const bool two =
        facts.loss == Loss::binary_cross_entropy && outputs == 1 && facts.output_names.size() == 2;
    if (!two && facts.output_names.size() != outputs) facts.output_names.clear();
    const InputScaling scaling = network.facts().scaling;
    Network::Parts parts;
    parts.facts = std::move(facts);
    parts.facts.scaling = scaling;
    return Network(parts.with(std::move(layers), model_.name));
  }

  const OnnxModel& model_;
  const ImportOptions& options_;
  const OnnxPort* input_ = nullptr;
  std::map<std::string, Value> values_;
  std::map<std::size_t, Value> others_;  // outputs of the node at work besides the first
  std::shared_ptr<const Flow> inputs_flow_;
  std::vector<std::string> notes_;
  Offset stored_ = 0, zeros_ = 0;
  int units_ = 0;
  std::int64_t spent_ = 0;
  bool said_floats_ = false;
};

}  // namespace

Imported read_onnx(std::span<const std::byte> bytes, const std::string& name,
                   const std::filesystem::path& directory, const ImportOptions& options) {
  const OnnxModel model = parse_onnx(bytes, name, directory);
  if (model.nodes.empty()) fail("{}: an ONNX model without nodes", name);
  try {
    return GraphReader(model, options).read();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(name)) throw;
    fail("{}: {}", name, error.what());
  } catch (const std::out_of_range&) {
    fail("{}: arrays of the graph do not fit together", name);
  }
}

}  // namespace filigree::internal
