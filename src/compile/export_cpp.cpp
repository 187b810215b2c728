// SPDX-License-Identifier: Apache-2.0
#include "compile/export_cpp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "base/error.h"
#include "base/random.h"
#include "compile/expand.h"

namespace filigree::internal {

namespace {

// Straight-line code reads no index and never branches, but runs every connection, and every instruction is
// new to the processor. Going by inputs skips those that are zero, which costs a wrong guess now and then: it
// pays from about twelve connections of an input on (bench export: 97 % sparse 11 µs straight, 16 µs by
// lists; 90 % sparse 39 and 21 µs).
constexpr Offset kMostStraight = 16384;
constexpr Offset kConnectionsWorthAGuess = 12;
constexpr Offset kMostConnections = 4 << 20;  // a compiler takes minutes beyond
constexpr std::size_t kStatements = 32;       // of a function: compilers are slow with long ones
constexpr int kTestRows = 16;

using Out = std::back_insert_iterator<std::string>;

std::string literal(float v) {
  std::string text = fmt::format("{}", v);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text + "f";
}

// How many deviations zero is from the mean of an input.
double distance_of_zero(const InputScaling& scaling, std::size_t i) {
  return std::fabs(double{scaling.mean_of(i)} * scaling.scale_of(i));
}

// Scaling can be part of the first layer unless a mean is so large that little would be left of its
// difference to the inputs.
bool folds_into_weights(const InputScaling& scaling, std::size_t inputs) {
  constexpr double kFar = 100;
  for (std::size_t i = 0; i < inputs; ++i)
    if (!(distance_of_zero(scaling, i) <= kFar)) return false;
  return true;
}

void fold_scaling(const InputScaling& scaling, Layer& first) {
  for (Index r = 0; r < first.outputs(); ++r) {
    double bias = first.bias[r];
    for (std::size_t e = first.weights.row_begin[r];
         e < static_cast<std::size_t>(first.weights.row_begin[r + 1]); ++e) {
      const std::size_t c = first.weights.column[e];
      const double scaled = double{first.weights.value[e]} * scaling.scale_of(c);
      bias -= scaled * scaling.mean_of(c);
      first.weights.value[e] = scaled;
    }
    first.bias[r] = bias;
  }
}

CodeForm form_for(const Layer& layer) {
  const Offset all = static_cast<Offset>(layer.inputs()) * layer.outputs();
  if (layer.weights.nnz() <= std::min(kMostStraight, kConnectionsWorthAGuess * layer.inputs()))
    return CodeForm::straight;
  return 2 * layer.weights.nnz() > all ? CodeForm::matrix : CodeForm::lists;
}

// "activation(…)" around an expression.
std::string activated(const Layer& layer, const std::string& sum) {
  const ActivationFunction& activation = layer.activation;
  switch (activation.kind) {
    case Activation::identity:
      return sum;
    case Activation::relu:
      return activation.saturates() ? fmt::format("capped({}, {})", sum, literal(activation.cap))
                                    : fmt::format("relu({})", sum);
    case Activation::leaky_relu:
      return fmt::format("leaky({}, {})", sum, literal(activation.slope));
    case Activation::sigmoid:
      return fmt::format("sigmoid({})", sum);
    case Activation::tanh:
      return fmt::format("std::tanh({})", sum);
    case Activation::softplus:
      return fmt::format("softplus({})", sum);
  }
  return sum;
}

template <typename T, typename Text>
void write_array(std::string& code, const std::string& declaration, std::span<const T> values,
                 const Text& text) {
  constexpr std::size_t kPerLine = 12;
  fmt::format_to(Out(code), "const {}[] = {{", declaration);
  for (std::size_t i = 0; i < values.size(); ++i)
    code.append(i % kPerLine == 0 ? "\n  " : " ").append(text(values[i])).append(",");
  code += "\n};\n";
}
void write_floats(std::string& code, const std::string& name, std::span<const float> values) {
  write_array(code, "float " + name, values, literal);
}
void write_indices(std::string& code, const std::string& name, std::span<const Index> values, Index most) {
  const char* const type = most < 256 ? "std::uint8_t" : most < 65536 ? "std::uint16_t" : "std::uint32_t";
  write_array(code, fmt::format("{} {}", type, name), values, [](Index v) { return fmt::format("{}", v); });
}

// Products of one output, in several chains if they are many: each addition waits for the one before.
std::string sum_text(const Layer& layer, Index r) {
  const auto columns = layer.weights.view().row_columns(r);
  const auto values = layer.weights.view().row_values(r);
  const std::size_t chains = columns.size() > 32 ? 4 : columns.size() > 8 ? 2 : 1;
  std::string sum = literal(layer.bias[r]);
  for (std::size_t chain = 0; chain < chains; ++chain) {
    if (chain > 0) sum += " + (";
    for (std::size_t e = chain; e < columns.size(); e += chains)
      fmt::format_to(Out(sum), "{}{} * x[{}]", e == chain && chain > 0 ? "" : " + ", literal(values[e]),
                     columns[e]);
    if (chain > 0) sum += ")";
  }
  return sum;
}

void write_straight(std::string& code, const Layer& layer, std::size_t l) {
  std::size_t parts = 0;
  for (Index r = 0; r < layer.outputs(); ++r) {
    if (r % kStatements == 0)
      fmt::format_to(Out(code), "{}APART void layer{}_{}(const float* x, float* y) {{\n", r == 0 ? "" : "}\n",
                     l, parts++);
    fmt::format_to(Out(code), "  y[{}] = {};\n", r, activated(layer, sum_text(layer, r)));
  }
  fmt::format_to(Out(code), "{}void layer{}({}) {{\n", parts > 0 ? "}\n" : "", l,
                 parts > 0 ? "const float* x, float* y" : "const float*, float*");
  for (std::size_t p = 0; p < parts; ++p) fmt::format_to(Out(code), "  layer{}_{}(x, y);\n", l, p);
  code += "}\n";
}

void write_by_input(std::string& code, const Layer& layer, std::size_t l, CodeForm form) {
  const CsrMatrix by_input = transpose(layer.weights.view());
  const std::size_t inputs = layer.inputs();
  const std::size_t outputs = layer.outputs();
  write_floats(code, fmt::format("bias{}", l), layer.bias);
  std::string inner;
  if (form == CodeForm::matrix) {
    std::vector<float> all(inputs * outputs, 0.0f);
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t e = 0; e < by_input.view().row_columns(i).size(); ++e)
        all[i * outputs + by_input.view().row_columns(i)[e]] = by_input.view().row_values(i)[e];
    write_floats(code, fmt::format("weight{}", l), all);
    inner = fmt::format("for (int o = 0; o < {1}; ++o) y[o] += weight{0}[i * {1} + o] * v;", l, outputs);
  } else {
    const std::vector<Index> begin(by_input.row_begin.begin(), by_input.row_begin.end());
    write_floats(code, fmt::format("weight{}", l), by_input.value);
    write_indices(code, fmt::format("output{}", l), by_input.column, layer.outputs());
    write_indices(code, fmt::format("begin{}", l), begin, by_input.nnz());
    inner = fmt::format(
        "for (std::uint32_t e = begin{0}[i]; e < begin{0}[i + 1]; ++e) y[output{0}[e]] += weight{0}[e] * v;",
        l);
  }
  fmt::format_to(Out(code),
                 "void layer{0}(const float* x, float* y) {{\n"
                 "  for (int o = 0; o < {1}; ++o) y[o] = bias{0}[o];\n"
                 "  for (int i = 0; i < {2}; ++i) {{\n"
                 "    const float v = x[i];\n"
                 "    if (v == 0) continue;\n"
                 "    {3}\n"
                 "  }}\n",
                 l, outputs, inputs, inner);
  if (!layer.activation.is(Activation::identity))
    fmt::format_to(Out(code), "  for (int o = 0; o < {}; ++o) y[o] = {};\n", outputs,
                   activated(layer, "y[o]"));
  code += "}\n";
}

// The mean and the scale of each input.
void write_scaling(std::string& code, const InputScaling& scaling, std::size_t inputs) {
  std::vector<float> mean, scale;
  for (std::size_t i = 0; i < inputs; ++i) {
    mean.push_back(scaling.mean_of(i));
    scale.push_back(scaling.scale_of(i));
  }
  write_floats(code, "mean", mean);
  write_floats(code, "scale", scale);
}

std::vector<double> forward(const std::vector<LayerPointer>& layers, std::vector<double> x) {
  for (const LayerPointer& pointer : layers) {
    const Layer& layer = *pointer;
    std::vector<double> y(layer.bias.begin(), layer.bias.end());
    for (Index r = 0; r < layer.outputs(); ++r) {
      const auto columns = layer.weights.view().row_columns(r);
      for (std::size_t e = 0; e < columns.size(); ++e)
        y[r] += double{layer.weights.view().row_values(r)[e]} * x[columns[e]];
      y[r] = layer.activation(y[r]);
    }
    x = std::move(y);
  }
  return x;
}

// Rows around what the network was made for, and what the network itself, not the code, makes of them.
std::string test_text(const Network& wide, const std::string& name, const std::string& source_name) {
  constexpr double kNearby = 5;  // deviations
  Random random(1);
  const InputScaling& scaling = wide.facts().scaling;
  const std::vector<LayerPointer> layers = all_layers(wide);
  const std::size_t columns = wide.inputs();
  std::vector<float> inputs, expected;
  for (int row = 0; row < kTestRows; ++row) {
    std::vector<double> scaled;
    for (std::size_t i = 0; i < columns; ++i) {
      const float scale = scaling.scale_of(i), mean = scaling.mean_of(i);
      const bool zero = random.uniform() < 0.3 && distance_of_zero(scaling, i) <= kNearby;  // as data have
      const auto drawn = static_cast<float>(random.uniform(-1, 1));
      inputs.push_back(zero ? 0.0f : mean + (scale == 0 ? drawn : drawn / scale));
      scaled.push_back((double{inputs.back()} - mean) * scale);
    }
    for (const double v : forward(layers, scaled)) expected.push_back(v);
  }
  std::string code = fmt::format(
      "// Compares {0} with the network it was written from: 0 if they agree.\n"
      "// Includes the network: compile and run this file alone.\n#include \"{0}\"\n\n#include "
      "<cmath>\n#include <cstdio>\n\nnamespace {{\n",
      source_name);
  write_floats(code, "given", inputs);
  write_floats(code, "expected", expected);
  fmt::format_to(
      Out(code),
      "}}  // namespace\n\n"
      "int main() {{\n"
      "  double worst = 0;  // relative to the largest output of its row\n"
      "  for (int row = 0; row < {1}; ++row) {{\n"
      "    float outputs[{3}];\n"
      "    {0}(given + row * {2}, outputs);\n"
      "    double largest = 1e-30, furthest = 0;\n"
      "    for (int o = 0; o < {3}; ++o) {{\n"
      "      const double wanted = expected[row * {3} + o], off = std::fabs(outputs[o] - wanted);\n"
      "      largest = std::fmax(largest, std::fabs(wanted));\n"
      "      furthest = off > furthest || off != off ? off : furthest;\n"
      "    }}\n"
      "    worst = furthest / largest > worst || furthest != furthest ? furthest / largest : worst;\n"
      "  }}\n"
      "  std::printf(\"{1} rows, largest difference %.2g of the largest output\\n\", worst);\n"
      "  return worst < 1e-4 ? 0 : 1;\n"
      "}}\n",
      name, kTestRows, wide.inputs(), wide.outputs());
  return code;
}

// A string of C++ that holds these bytes, whatever they are.
std::string literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?')
      result.append("\\").push_back(c);
    else if (byte < 32 || byte == 127)
      result += fmt::format("\\{:03o}", byte);
    else
      result += c;
  }
  return result + '"';
}

// What the data calls the inputs, classes or outputs, in their order.
void write_names(std::string& code, const std::string& array, const std::vector<std::string>& names) {
  if (names.empty()) return;
  fmt::format_to(Out(code),
                 "\nextern \"C\" {{\nextern const char* const {}[{}];\nconst char* const {}[{}] = {{", array,
                 names.size(), array, names.size());
  for (std::size_t i = 0; i < names.size(); ++i)
    fmt::format_to(Out(code), "{}{}", i == 0 ? "" : i % 8 == 0 ? ",\n  " : ", ", literal(names[i]));
  code += "};\n}\n";
}

}  // namespace

ExportedCode export_cpp(const Network& network, const std::string& name, const std::string& source_name,
                        const std::string& description) {
  const Network wide = expanded(network);
  const InputScaling& scaling = wide.facts().scaling;
  const std::size_t inputs = wide.inputs();
  std::vector<Layer> layers;
  for (const LayerPointer& layer : all_layers(wide)) layers.push_back(*layer);
  const bool folds = folds_into_weights(scaling, inputs);
  if (folds) fold_scaling(scaling, layers.front());
  Offset connections = 0;
  Index widest = 1;
  for (const Layer& layer : layers) {
    connections += layer.weights.nnz();
    widest = std::max(widest, layer.outputs());
  }
  if (connections > kMostConnections)
    fail("{} connections are too many for a program; {} are the most", connections, kMostConnections);
  ExportedCode result;
  result.connections = connections;
  std::string& code = result.source;
  code = fmt::format(
      "// {}: {} inputs, {} outputs, {} connections. Written by filigree.\n"
      "//   extern \"C\" void {}(const float* inputs, float* outputs);\n"
      "// takes one row as the network's data has it. C++17, no allocation, nothing to link.\n"
      "#include <cmath>\n#include <cstdint>\n\n"
      "#if defined(__GNUC__)\n#define APART __attribute__((noinline))\n#else\n#define APART\n#endif\n\n"
      "namespace {{\n"
      "inline float relu(float v) {{ return v < 0 ? 0 : v; }}\n"
      "inline float capped(float v, float cap) {{ return v < 0 ? 0 : v > cap ? cap : v; }}\n"
      "inline float leaky(float v, float slope) {{ return v < 0 ? v * slope : v; }}\n"
      "inline float sigmoid(float v) {{ return 1 / (1 + std::exp(-v)); }}\n"
      "inline float softplus(float v) {{ return (v > 0 ? v : 0) + std::log1p(std::exp(v > 0 ? -v : v)); "
      "}}\n\n",
      description, layers.front().inputs(), layers.back().outputs(), connections, name);
  if (!folds) write_scaling(code, scaling, inputs);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    result.forms.push_back(form_for(layers[l]));
    if (result.forms.back() == CodeForm::straight)
      write_straight(code, layers[l], l);
    else
      write_by_input(code, layers[l], l, result.forms.back());
  }
  fmt::format_to(Out(code),
                 "}}  // namespace\n\nextern \"C\" void {}(const float* inputs, float* outputs) {{\n", name);
  if (!folds)
    fmt::format_to(Out(code),
                   "  static thread_local float x[{0}];  // not on the stack, which may be small\n"
                   "  for (int i = 0; i < {0}; ++i) x[i] = (inputs[i] - mean[i]) * scale[i];\n",
                   wide.inputs());
  if (layers.size() > 1) fmt::format_to(Out(code), "  static thread_local float a[{}];\n", widest);
  if (layers.size() > 2) fmt::format_to(Out(code), "  static thread_local float b[{}];\n", widest);
  for (std::size_t l = 0; l < layers.size(); ++l)
    fmt::format_to(Out(code), "  layer{}({}, {});\n", l,
                   l == 0       ? (folds ? "inputs" : "x")
                   : l % 2 == 1 ? "a"
                                : "b",
                   l + 1 == layers.size() ? "outputs"
                   : l % 2 == 0           ? "a"
                                          : "b");
  code += "}\n";
  write_names(code, name + "_inputs", wide.facts().input_names);
  write_names(code, name + (wide.task() == Task::classes ? "_classes" : "_outputs"),
              wide.facts().output_names);
  result.test = test_text(wide, name, source_name);
  return result;
}

}  // namespace filigree::internal
