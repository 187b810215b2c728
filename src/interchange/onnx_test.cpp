// SPDX-License-Identifier: Apache-2.0
// Tests of ONNX: what graphs compute, there and back, and files that cannot be read.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "interchange/interchange.h"
#include "interchange/test_onnx.h"
#include "io/test_files.h"
#include "network/test_networks.h"

namespace filigree::internal {
namespace {

Imported read(const std::string& bytes, const ImportOptions& options = {}) {
  return read_onnx(std::as_bytes(std::span(bytes)), "model", {}, options);
}
Network network_of(const Graph& graph) {
  return read(graph.bytes()).network;
}
std::string refusal(const Graph& graph) {
  const std::string bytes = graph.bytes();
  return error_of([&] { (void)read(bytes); });
}

// What a network makes of a row, in double.
std::vector<double> outputs_of(const Network& network, std::vector<double> row) {
  const InputScaling& scaling = network.facts().scaling;
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - scaling.mean_of(i)) * scaling.scale_of(i);
  for (const LayerPointer& layer : all_layers(network)) {
    std::vector<double> next;
    for (Index r = 0; r < layer->weights.rows; ++r) {
      double sum = layer->bias[r];
      for (Offset e = layer->weights.row_begin[r]; e < layer->weights.row_begin[r + 1]; ++e)
        sum += static_cast<double>(layer->weights.value[e]) * row[layer->weights.column[e]];
      next.push_back(layer->activation(sum));
    }
    row = std::move(next);
  }
  return row;
}

const std::vector<std::vector<double>> kRows = {
    {0, 0, 0}, {1, -2, 0.5}, {-3, 4, 2}, {0.25, 0.125, -8}, {5, 5, 5}};
const std::vector<float> kW1 = {1, 2, -1, 0.5F, 0, 3};  // 3 × 2
const std::vector<float> kB1 = {0.5F, -1};

double w1(int in, int out) {
  return kW1[2 * in + out];
}
std::vector<double> first_sums(const std::vector<double>& x) {
  std::vector<double> sums;
  for (int o = 0; o < 2; ++o) sums.push_back(x[0] * w1(0, o) + x[1] * w1(1, o) + x[2] * w1(2, o) + kB1[o]);
  return sums;
}

// Every number here is a small multiple of a power of two, or has been rounded to a float three times at
// most.
void expect(const Graph& graph, const std::function<std::vector<double>(const std::vector<double>&)>& meant) {
  const Network network = network_of(graph);
  for (const std::vector<double>& row : kRows) {
    const std::vector<double> found = outputs_of(network, row), expected = meant(row);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t o = 0; o < found.size(); ++o)
      EXPECT_NEAR(found[o], expected[o], 32 * 0x1p-24 * (1 + std::fabs(expected[o]))) << "output " << o;
  }
}

Graph first_layer(std::vector<Message> nodes, std::vector<Message> tensors = {}) {
  Graph graph{{node("Gemm", {"x", "w1", "b1"}, {"h"})}, {floats("w1", {3, 2}, kW1), floats("b1", {2}, kB1)}};
  graph.nodes.insert(graph.nodes.end(), nodes.begin(), nodes.end());
  graph.tensors.insert(graph.tensors.end(), tensors.begin(), tensors.end());
  return graph;
}

double relu(double z) {
  return std::max(z, 0.0);
}

TEST(Onnx, ReadsProductsAndActivations) {
  const Network network = network_of(first_layer(
      {node("Relu", {"h"}, {"r"}), node("MatMul", {"r", "w2"}, {"m"}), node("Add", {"b2", "m"}, {"y"})},
      {floats("w2", {2, 1}, {2, -0.5F}), floats("b2", {1}, {3})}));
  const std::vector<LayerPointer> layers = all_layers(network);
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0]->weights, (CsrMatrix{2, 3, {0, 2, 5}, {0, 1, 0, 1, 2}, {1, -1, 2, 0.5F, 3}}));
  EXPECT_EQ(layers[0]->bias, kB1);
  EXPECT_TRUE(layers[0]->activation.is(Activation::relu));
  EXPECT_EQ(layers[1]->weights, (CsrMatrix{1, 2, {0, 2}, {0, 1}, {2, -0.5F}}));
  EXPECT_EQ(layers[1]->bias, std::vector<float>{3});
  EXPECT_EQ(network.facts().loss, Loss::squared);
}

TEST(Onnx, FoldsNormalizationBeforeAndBehindAnActivation) {
  const std::vector<Message> parameters = {floats("s", {2}, {2, 0.5F}), floats("t", {2}, {1, -1}),
                                           floats("m", {2}, {0.5F, 2}), floats("v", {2}, {3.75F, 0.75F}),
                                           wholes("axis", {2})};
  const Message epsilon = attribute("epsilon", 0.25F);
  const auto normal = [](double z, int o) {
    constexpr double kScale[] = {2, 0.5}, kShift[] = {1, -1}, kMean[] = {0.5, 2}, kDeviation[] = {2, 1};
    return (z - kMean[o]) / kDeviation[o] * kScale[o] + kShift[o];
  };
  expect(first_layer({node("BatchNormalization", {"h", "s", "t", "m", "v"}, {"n"}, {epsilon}),
                      node("Relu", {"n"}, {"y"})},
                     parameters),
         [&](const auto& x) {
           const auto h = first_sums(x);
           return std::vector{relu(normal(h[0], 0)), relu(normal(h[1], 1))};
         });
  // As exporters wrap it: a dimension is added, and taken away again; the second product takes what comes
  // out.
  auto more = parameters;
  more.push_back(floats("w2", {2, 2}, {1, 2, 3, 4}));
  expect(first_layer({node("LeakyRelu", {"h"}, {"r"}, {attribute("alpha", 0.5F)}),
                      node("Unsqueeze", {"r", "axis"}, {"u"}),
                      node("BatchNormalization", {"u", "s", "t", "m", "v"}, {"n"}, {epsilon}),
                      node("Squeeze", {"n", "axis"}, {"q"}), node("MatMul", {"q", "w2"}, {"y"})},
                     more),
         [&](const auto& x) {
           const auto h = first_sums(x);
           const double a = normal(h[0] < 0 ? h[0] / 2 : h[0], 0), b = normal(h[1] < 0 ? h[1] / 2 : h[1], 1);
           return std::vector{a + 3 * b, 2 * a + 4 * b};
         });
}

TEST(Onnx, ClipsWithAnyLimits) {
  struct Limits {
    std::vector<std::string> names;
    double least, most;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const Limits& limits : {Limits{{"h", "zero", "six"}, 0, 6},
                               {{"h", "zero"}, 0, kInfinity},
                               {{"h", "minus", "six"}, -1, 6},
                               {{"h", "", "six"}, -kInfinity, 6},
                               {{"h", "minus", ""}, -1, kInfinity}}) {
    std::vector<std::string> names = limits.names;
    expect(first_layer({node("Clip", names, {"c"}), node("MatMul", {"c", "w2"}, {"y"})},
                       {floats("zero", {}, {0}), floats("six", {}, {6}), floats("minus", {}, {-1}),
                        floats("w2", {2, 1}, {1, 2})}),
           [&](const auto& x) {
             const auto h = first_sums(x);
             return std::vector{std::clamp(h[0], limits.least, limits.most) +
                                2 * std::clamp(h[1], limits.least, limits.most)};
           });
  }
  const Network network = network_of(
      first_layer({node("Relu", {"h"}, {"r"}), node("Min", {"r", "six"}, {"y"})}, {floats("six", {}, {6})}));
  ASSERT_EQ(network.layers(), 1);
  EXPECT_EQ(network.layer(0).activation, ActivationFunction(Activation::relu, 6));
}

TEST(Onnx, KnowsTheSoftplusOfPyTorch) {
  const auto graph = [](float threshold) {
    return first_layer({node("Softplus", {"h"}, {"s"}), node("Greater", {"h", "t"}, {"g"}),
                        node("Where", {"g", "h", "s"}, {"y"})},
                       {floats("t", {}, {threshold})});
  };
  const Network network = network_of(graph(20));
  ASSERT_EQ(network.layers(), 1);
  EXPECT_TRUE(network.layer(0).activation.is(Activation::softplus));
  EXPECT_NE(refusal(graph(3)).find("no softplus"), std::string::npos);
}

TEST(Onnx, FollowsShapes) {
  // 2 × 3 images: turned, flattened, scaled; the first product takes columns first.
  Graph graph{{node("Transpose", {"x"}, {"t"}, {attribute("perm", std::vector<std::int64_t>{0, 2, 1})}),
               node("Reshape", {"t", "shape"}, {"f"}), node("Sub", {"f", "mean"}, {"s"}),
               node("Div", {"s", "two"}, {"d"}), node("MatMul", {"d", "w"}, {"y"})},
              {wholes("shape", {-1, 6}), floats("mean", {1}, {1}), floats("two", {}, {2}),
               floats("w", {6, 1}, {1, 10, 100, 1000, 10000, 100000})}};
  graph.input = {0, 2, 3};
  const Network network = network_of(graph);
  EXPECT_EQ(network.inputs(), 6);
  // Pixel (r, c) is number 2 c + r behind the turn.
  const std::vector<double> found = outputs_of(network, {1, 3, 5, 7, 9, 11});
  EXPECT_DOUBLE_EQ(found[0], 0 * 1 + 3 * 10 + 1 * 100 + 4 * 1000 + 2 * 10000 + 5 * 100000);
  // One row, without a dimension for it; and a product from the left.
  Graph left{{node("MatMul", {"w", "x"}, {"y"})}, {floats("w", {2, 3}, {1, 2, 3, 4, 5, 6})}};
  left.input = {3};
  EXPECT_EQ(outputs_of(network_of(left), {1, 10, 100}), (std::vector<double>{321, 654}));
  // A shape that is computed from the rows.
  Graph computed{{node("Shape", {"x"}, {"s"}), node("Gather", {"s", "zero"}, {"n"}),
                  node("Concat", {"n", "rest"}, {"to"}, {attribute("axis", std::int64_t{0})}),
                  node("Reshape", {"x", "to"}, {"f"}), node("MatMul", {"f", "w"}, {"y"})},
                 {wholes("zero", {0}), wholes("rest", {-1}), floats("w", {6, 1}, {1, 2, 3, 4, 5, 6})}};
  computed.input = {0, 2, 3};
  EXPECT_EQ(outputs_of(network_of(computed), {1, 1, 1, 1, 1, 1}), std::vector<double>{21});
}

TEST(Onnx, KeepsScalingOfInputsAsItIs) {
  const Network network = network_of(
      {{node("Sub", {"x", "m"}, {"c"}), node("Mul", {"c", "s"}, {"d"}), node("MatMul", {"d", "w"}, {"y"})},
       {floats("m", {3}, {0.1F, 1e6F, 3}), floats("s", {3}, {0.3F, 1e-7F, 7}),
        floats("w", {3, 1}, {1, 1, 1})}});
  EXPECT_EQ(network.facts().scaling.mean, (std::vector<float>{0.1F, 1e6F, 3}));
  EXPECT_EQ(network.facts().scaling.scale, (std::vector<float>{0.3F, 1e-7F, 7}));
}

TEST(Onnx, LeavesSoftmaxAndClassesToPredictions) {
  const Message names = Message().whole(1, 2).whole(2, 8).bytes(6, "cat").bytes(6, "dog").bytes(8, "names");
  Graph graph = first_layer(
      {node("Softmax", {"h"}, {"p"}), node("ArgMax", {"p"}, {"a"}, {attribute("axis", std::int64_t{1})}),
       node("Gather", {"names", "a"}, {"label"})},
      {names});
  graph.outputs = {"label", "p"};
  const Imported imported = read(graph.bytes());
  EXPECT_EQ(imported.network.facts().loss, Loss::cross_entropy);
  EXPECT_EQ(imported.network.facts().output_names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_TRUE(imported.network.layer(0).activation.is(Activation::identity));
  ASSERT_EQ(imported.notes.size(), 1u);
  // Two classes by one output, as scikit-learn's exporter writes them.
  Graph two{
      {node("MatMul", {"x", "w"}, {"h"}), node("Sigmoid", {"h"}, {"p"}), node("Sub", {"one", "p"}, {"q"}),
       node("Concat", {"q", "p"}, {"y"}, {attribute("axis", std::int64_t{1})})},
      {floats("w", {3, 1}, {1, 2, 3}), floats("one", {1}, {1})}};
  const Network binary = network_of(two);
  EXPECT_EQ(binary.task(), Task::classes);
  EXPECT_EQ(binary.outputs(), 1);
  EXPECT_EQ(outputs_of(binary, {1, 1, 1}), std::vector<double>{6});
}

TEST(Onnx, ComputesWithWhatIntegersStandFor) {
  const std::vector<std::int8_t> integers = {10, -20, 30, 40, 0, 60};
  const auto q = [&](int in, int out) { return integers[2 * in + out] * 0.5; };
  // A zero point of 0 cuts off what is negative: the relu that the exporter left out.
  Graph graph{
      {node("QuantizeLinear", {"x", "s", "z"}, {"xq"}), node("DequantizeLinear", {"xq", "s", "z"}, {"xd"}),
       node("DequantizeLinear", {"wq", "ws", "wz"}, {"w"}), node("MatMul", {"xd", "w"}, {"h"}),
       node("QuantizeLinear", {"h", "big", "zero"}, {"hq"}),
       node("DequantizeLinear", {"hq", "big", "zero"}, {"y"})},
      {floats("s", {}, {0.125F}), onnx_tensor<std::uint8_t>("z", 2, {}, {128}),
       onnx_tensor<std::int8_t>("wq", 3, {3, 2}, integers), floats("ws", {}, {0.5F}),
       onnx_tensor<std::int8_t>("wz", 3, {}, {0}), floats("big", {}, {4}),
       onnx_tensor<std::uint8_t>("zero", 2, {}, {0})}};
  const auto sums = [&](const std::vector<double>& x) {
    std::vector<double> h;
    for (int o = 0; o < 2; ++o) h.push_back(x[0] * q(0, o) + x[1] * q(1, o) + x[2] * q(2, o));
    return h;
  };
  expect(graph, [&](const auto& x) {
    const auto h = sums(x);
    return std::vector{std::clamp(h[0], 0.0, 1020.0), std::clamp(h[1], 0.0, 1020.0)};
  });
  EXPECT_EQ(read(graph.bytes()).notes.size(), 2u);
  // Integers whose scale each batch has anew.
  Graph anew{{node("DynamicQuantizeLinear", {"x"}, {"xq", "xs", "xz"}),
              node("MatMulInteger", {"xq", "wq", "xz", "wz"}, {"i"}), node("Cast", {"i"}, {"f"}),
              node("Mul", {"xs", "ws"}, {"scale"}), node("Mul", {"f", "scale"}, {"y"})},
             {onnx_tensor<std::int8_t>("wq", 3, {3, 2}, integers), floats("ws", {}, {0.5F}),
              onnx_tensor<std::int8_t>("wz", 3, {}, {0})}};
  expect(anew, sums);
}

TEST(Onnx, ReadsTensorsOfEveryKind) {
  const auto value = [&](const Message& tensor) {
    return outputs_of(network_of({{node("MatMul", {"x", "w"}, {"y"})}, {tensor}}), {1, 10, 100});
  };
  const std::vector<double> expected = {321};
  EXPECT_EQ(value(floats("w", {3, 1}, {1, 2, 3})), expected);
  EXPECT_EQ(value(onnx_tensor<double>("w", 11, {3, 1}, {1, 2, 3})), expected);
  EXPECT_EQ(value(onnx_tensor<std::uint16_t>("w", 10, {3, 1}, {0x3c00, 0x4000, 0x4200})), expected);  // half
  EXPECT_EQ(value(onnx_tensor<std::uint16_t>("w", 16, {3, 1}, {0x3f80, 0x4000, 0x4040})),
            expected);  // bfloat16
  EXPECT_EQ(value(onnx_tensor<std::int8_t>("w", 3, {3, 1}, {1, 2, 3})), expected);
  EXPECT_EQ(
      value(
          Message().whole(1, 3).whole(1, 1).whole(2, 1).bytes(8, "w").number(4, 1).number(4, 2).number(4, 3)),
      expected);
  Graph sparse{{node("MatMul", {"x", "w"}, {"y"})}, {}};
  sparse.sparse = {
      Message().message(1, floats("w", {2}, {1, 3})).message(2, wholes("i", {0, 2})).whole(3, 3).whole(3, 1)};
  EXPECT_EQ(outputs_of(network_of(sparse), {1, 10, 100}), std::vector<double>{301});
}

TEST(Onnx, SaysWhatCannotBeComputedAndWhere) {
  EXPECT_EQ(
      refusal(first_layer({node("Conv", {"h", "w1"}, {"y"})})),
      "model: node \"the_y\" (Conv): convolutions are not computed here: only multi-layer perceptrons are");
  EXPECT_NE(refusal(first_layer({node("Magic", {"h"}, {"y"})}))
                .find("node \"the_y\" (Magic): this operator is not known"),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({node("Add", {"h", "h"}, {"y"})})).find("branch and join"),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({node("MatMul", {"h", "h"}, {"y"})})).find("multiplied with each other"),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({node("MatMul", {"h", "w1"}, {"y"})}))
                .find("a product of values of shape rows×2 with 3 inputs"),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({node("Relu", {"later"}, {"y"}), node("Relu", {"y"}, {"later"})}))
                .find("computed by no node before it"),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({node("MatMul", {"h", "gone"}, {"y"})})).find("its input \"gone\""),
            std::string::npos);
  EXPECT_NE(refusal(first_layer({})).find("no node computes the output \"y\""), std::string::npos);
  EXPECT_NE(refusal(first_layer({node("Relu", {"h"}, {"h"})})).find("computed before"), std::string::npos);
  EXPECT_NE(
      refusal(first_layer({node("MatMul", {"h", "w2"}, {"y"})}, {floats("w2", {2, 1}, {std::nanf(""), 1})}))
          .find("nan"),
      std::string::npos);
  // What only the class needs does no harm.
  Graph unused = first_layer({node("Relu", {"h"}, {"y"}), node("Conv", {"h", "w1"}, {"other"})});
  unused.outputs = {"other", "y"};
  EXPECT_EQ(refusal(unused), "");
}

TEST(Onnx, RefusesDamageAndPromises) {
  const auto tensor_refusal = [&](const Message& tensor) {
    return refusal({{node("MatMul", {"x", "w"}, {"y"})}, {tensor}});
  };
  EXPECT_NE(tensor_refusal(floats("w", {3, 2}, {1, 2, 3})).find("12 bytes for 6 elements"),
            std::string::npos);
  EXPECT_NE(tensor_refusal(floats("w", {1 << 30, 1 << 30, 1 << 30}, {})).find("more than any memory holds"),
            std::string::npos);
  EXPECT_NE(tensor_refusal(floats("w", {-3, -1}, {})).find("more than any memory holds"), std::string::npos);
  EXPECT_NE(tensor_refusal(onnx_tensor<float>("w", 99, {3, 1}, {1, 2, 3})).find("type 99"),
            std::string::npos);
  const auto outside = [](const std::string& location) {
    return Message().whole(1, 3).whole(1, 1).whole(2, 1).bytes(8, "w").whole(14, 1).message(
        13, Message().bytes(1, "location").bytes(2, location));
  };
  const TestDirectory dir;
  const Graph away{{node("MatMul", {"x", "w"}, {"y"})}, {outside("../secret")}};
  const std::string path = put_file(dir / "model.onnx", away.bytes()).string();
  put_file(dir / "weights.bin", std::string(12, '\0'));
  EXPECT_NE(error_of([&] { (void)load(path); }).find("which is outside the model's directory"),
            std::string::npos);
  for (const char* const location : {"/etc/passwd", "a/../../x", "weights.bin/../../../x"}) {
    const Graph graph{{node("MatMul", {"x", "w"}, {"y"})}, {outside(location)}};
    put_file(dir / "model.onnx", graph.bytes());
    EXPECT_NE(error_of([&] { (void)load(path); }).find("outside the model's directory"), std::string::npos)
        << location;
  }
  const Graph beside{{node("MatMul", {"x", "w"}, {"y"})}, {outside("weights.bin")}};
  put_file(dir / "model.onnx", beside.bytes());
  EXPECT_EQ(load(path).inputs(), 3);
  put_file(dir / "weights.bin", "\x1f\x8b" + std::string(10, '\1'));  // begins as a compressed file does
  EXPECT_EQ(load(path).layer(0).value.size(), 3u);
  put_file(dir / "weights.bin", "short");
  EXPECT_NE(error_of([&] { (void)load(path); }).find("12 bytes from byte 0 of \"weights.bin\", which has 5"),
            std::string::npos);
  const std::string whole = first_layer({node("Relu", {"h"}, {"y"})}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_NE(error_of([&] { (void)read(whole.substr(0, size)); }), "") << size;
  EXPECT_NE(error_of([&] { (void)read(std::string(100, '\xff')); }), "");
  const Message wrong = Message().whole(1, 8).message(
      7, Message().message(1, Message().whole(3, 5)));  // a name that is a number
  EXPECT_NE(error_of([&] { (void)read(wrong.text()); }).find("another type than its number says"),
            std::string::npos);
}

TEST(Onnx, ModelFilesAreNoOnnxWhateverTheirLength) {
  // The length of a header is the first thing in them: 8, 522, … look like the first field of ONNX.
  for (int names = 1; names < 400; ++names) {
    NetworkFacts facts;
    for (int i = 0; i < 2; ++i) facts.output_names.push_back(std::string(names, static_cast<char>('a' + i)));
    const Network network =
        in_memory({{{2, 1, {0, 1, 2}, {0, 0}, {1, 2}}, {0, 0}, Activation::identity}}, facts);
    ASSERT_EQ(from_bytes(to_bytes(network)).facts().output_names, facts.output_names) << names;
  }
}

// A network of any shape: with scaling, caps, slopes, empty rows and curves.
Network any_network(std::uint64_t seed) {
  Random random(seed);
  const std::vector<ActivationFunction> kinds = {
      Activation::relu,    {Activation::relu, 1.5F}, ActivationFunction::leaky(0.3F),
      Activation::sigmoid, Activation::tanh,         Activation::softplus,
      Activation::identity};
  std::vector<Layer> layers;
  Index width = static_cast<Index>(1 + random.below(9));
  const std::size_t inputs = width, depth = 1 + random.below(4);
  for (std::size_t l = 0; l < depth; ++l) {
    Layer layer;
    layer.weights.rows = static_cast<Index>(1 + random.below(9));
    layer.weights.cols = width;
    for (Index r = 0; r < layer.weights.rows; ++r) {
      for (Index c = 0; c < width; ++c) {
        if (random.below(3) == 0) continue;
        layer.weights.column.push_back(c);
        layer.weights.value.push_back(static_cast<float>(random.normal()) + 0x1p-20F);
      }
      layer.weights.row_begin.push_back(layer.weights.nnz());
      layer.bias.push_back(static_cast<float>(random.normal()));
    }
    layer.activation = kinds[random.below(kinds.size())];
    // One relu directly behind another, without a product, is one on the way back: identities stay apart by
    // theirs.
    width = layer.weights.rows;
    layers.push_back(std::move(layer));
  }
  layers.back().activation = Activation::identity;
  NetworkFacts facts;
  facts.loss = width > 1 ? Loss::cross_entropy : Loss::squared;
  if (random.below(2) == 0)
    for (std::size_t i = 0; i < inputs; ++i) {
      facts.scaling.mean.push_back(static_cast<float>(random.normal()));
      facts.scaling.scale.push_back(static_cast<float>(0.5 + random.uniform()));
    }
  for (Index o = 0; o < width; ++o) facts.output_names.push_back(fmt::format("<{}\" ä", o));
  return in_memory(std::move(layers), facts);
}

TEST(Onnx, ComesBackBitForBit) {
  const bool held = rc::check("what is written is read again", [](std::uint64_t seed) {
    const Network network = any_network(seed);
    for (const bool sparse : {false, true}) {
      std::vector<std::byte> bytes;
      write_onnx(Target(bytes), network, {.sparse = sparse});
      const Network back = read_onnx(bytes, "model", {}, {}).network;
      RC_ASSERT(back.layers() == network.layers());
      for (Index l = 0; l < network.layers(); ++l) RC_ASSERT(*all_layers(back)[l] == *all_layers(network)[l]);
      RC_ASSERT(back.facts() == network.facts());
    }
  });
  EXPECT_TRUE(held);
}

TEST(Onnx, WritesWhatACompiledNetworkMapsItsInputsTo) {
  Pieces pieces = pieces_of(any_network(7));
  const Index inputs = pieces.layers.front().inputs(), outputs = pieces.layers.back().outputs();
  pieces.facts = {};
  for (Index i = 0; i < inputs + 2; ++i)
    pieces.ports.input_of.push_back(i < inputs ? i : i == inputs ? 0 : -1);
  for (Index o = 0; o < outputs + 1; ++o) pieces.ports.output_of.push_back(o < outputs ? o : -1);
  pieces.ports.output_constant.assign(outputs + std::size_t{1}, 2.5F);
  std::vector<std::byte> bytes;
  write_onnx(Target(bytes), pieces.network(), {});
  const Network back = read_onnx(bytes, "model", {}, {}).network;
  EXPECT_EQ(back.inputs(), inputs + 2);
  std::vector<double> row(inputs, 0.5), outer(inputs + std::size_t{2}, 0.5);
  row[0] = 1;  // two outer inputs are added up
  const std::vector<double> found = outputs_of(back, outer),
                            expected = outputs_of(in_memory(pieces.layers), row);
  ASSERT_EQ(found.size(), expected.size() + 1);
  for (std::size_t o = 0; o < expected.size(); ++o) EXPECT_DOUBLE_EQ(found[o], expected[o]);
  EXPECT_EQ(found.back(), 2.5);
}

}  // namespace
}  // namespace filigree::internal
