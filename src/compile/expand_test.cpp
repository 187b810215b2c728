// SPDX-License-Identifier: Apache-2.0
// Tests of the way back from compiled models, and of networks as programs.
#include "compile/expand.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/random.h"
#include "compile/compile.h"
#include "compile/export_cpp.h"
#include "infer/reference.h"
#include "network/test_bounds.h"
#include "network/test_networks.h"
#include "sparse/test_errors.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

std::vector<Layer> random_layers(std::uint64_t seed, Activation last) {
  Random random(seed);
  std::vector<Layer> layers;
  Index inputs = 6;
  for (const Index outputs : {8, 7, 5}) {
    Layer layer{random_csr(outputs, inputs, 0.3, seed + outputs), {}};
    for (float& v : layer.weights.value) v = random.uniform() < 0.5 ? 1.0f : v;  // some inputs are read alike
    for (Index r = 0; r < outputs; ++r) layer.bias.push_back(random.uniform(-1, 1));
    layers.push_back(std::move(layer));
    inputs = outputs;
  }
  layers.back().activation = last;
  return layers;
}

TEST(Expanded, ComputesWhatTheNetworkDidBeforeItWasCompiled) {
  rc::check([] {
    const auto last = *rc::gen::element(Activation::identity, Activation::relu, Activation::sigmoid,
                                        Activation::tanh, Activation::leaky_relu, Activation::softplus);
    const std::vector<Layer> layers = random_layers(*rc::gen::arbitrary<std::uint32_t>(), last);
    const Network wide = expanded(compile_network(in_memory(layers)).network);
    RC_ASSERT(!wide.compiled());
    RC_ASSERT(wide.inputs() == 6);
    RC_ASSERT(wide.outputs() == 5);
    for (const Layer& layer : copied_layers(wide)) {
      validate(layer, "expanded");
      if (layer.inputs() == 0 || layer.outputs() == 0) return;  // nothing but constants is left
    }
    Random random(5);
    std::vector<float> values(6 * 4);
    for (float& v : values) v = random.uniform(0.1, 2);
    const InputRows rows = full_rows(6, values);
    const std::vector<Index> all{0, 1, 2, 3};
    const std::vector<double> before = reference_outputs(MemoryLayers(layers), rows, all, {});
    const std::vector<double> after = reference_outputs(*wide.parts().layers, rows, all, {});
    for (std::size_t r = 0; r < 4; ++r) {
      const std::vector<double> bounds =
          error_bounds(layers, {values.begin() + 6 * r, values.begin() + 6 * r + 6});
      for (std::size_t o = 0; o < 5; ++o)
        RC_ASSERT(std::abs(before[5 * r + o] - after[5 * r + o]) <= bounds[o]);
    }
  });
}

TEST(Expanded, LeavesOtherModelsAsTheyAre) {
  const std::vector<Layer> layers = random_layers(1, Activation::identity);
  EXPECT_EQ(copied_layers(expanded(in_memory(layers))), layers);
}

TEST(ExportCpp, WritesSmallLayersStraightAndLargeOnesByInput) {
  std::vector<Layer> layers = {{random_csr(300, 100, 0.9, 1), std::vector<float>(300, 0.5f)},
                               {random_csr(100, 300, 0.1, 2), std::vector<float>(100, 0.5f)},
                               {random_csr(10, 100, 0.05, 3), std::vector<float>(10, 0.5f)}};
  const ExportedCode code = export_cpp(in_memory(layers), "f", "f.cpp", "A network");
  EXPECT_EQ(code.forms, (std::vector{CodeForm::matrix, CodeForm::straight, CodeForm::straight}));
  EXPECT_NE(code.source.find("extern \"C\" void f(const float* inputs, float* outputs)"), std::string::npos);
  EXPECT_NE(code.test.find("#include \"f.cpp\""), std::string::npos);
  layers[1].weights = random_csr(100, 300, 0.3, 2);
  EXPECT_EQ(export_cpp(in_memory(layers), "f", "f.cpp", "A network").forms[1], CodeForm::lists);
}

TEST(ExportCpp, TellsWhatInputsAndClassesAreCalled) {
  const std::vector<Layer> layers = {{random_csr(2, 3, 1.0, 1), std::vector<float>(2, 0.5f)}};
  NetworkFacts facts;
  facts.input_names = {"area", "built", "a \"quote\" ?? \\ and\na line"};
  facts.output_names = {"flat", "house"};
  const std::string source = export_cpp(in_memory(layers, facts), "f", "f.cpp", "A network").source;
  EXPECT_NE(source.find("const char* const f_classes[2] = {\"flat\", \"house\"};"), std::string::npos)
      << source;
  EXPECT_NE(source.find(R"("a \"quote\" \?\? \\ and\012a line")"), std::string::npos) << source;
  facts.loss = Loss::squared;
  facts.output_names = {"price", "rent"};
  EXPECT_NE(export_cpp(in_memory(layers, facts), "f", "f.cpp", "A network").source.find("f_outputs[2] = "),
            std::string::npos);
  EXPECT_EQ(export_cpp(in_memory(layers), "f", "f.cpp", "A network").source.find("const char"),
            std::string::npos);
}

TEST(ExportCpp, RefusesWhatNoCompilerWouldTake) {
  const Network network = in_memory({{random_csr(2400, 2400, 1.0, 1), std::vector<float>(2400, 0.0f)}});
  EXPECT_NE(error_of([&] { export_cpp(network, "f", "f.cpp", "A network"); }).find("are the most"),
            std::string::npos);
}

}  // namespace
}  // namespace filigree::internal
