// SPDX-License-Identifier: Apache-2.0
// Tests of the exact passes: what they remove, and that outputs stay what they were.
#include "compile/compile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "infer/reference.h"
#include "network/challenge.h"
#include "network/test_bounds.h"
#include "network/test_networks.h"
#include "sparse/test_inputs.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

Layer make_layer(CsrMatrix weights, std::vector<float> bias, float cap = kNoCap) {
  return {std::move(weights), std::move(bias), {Activation::relu, cap}};
}

InputRows dense_inputs(Index rows, Index cols, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(static_cast<std::size_t>(rows) * cols);
  for (float& v : values) v = random.uniform(0, 2);
  return full_rows(cols, values);
}

// What comes out of the passes, taken apart.
struct CompiledLayers {
  std::vector<Layer> layers;
  std::vector<Index> input_of, output_of;
  std::vector<float> output_constant;
  std::vector<CompilePass> passes;
  Offset original_connections = 0;
  bool biases_changed = false;

  Offset connections() const { return connections_of(layers); }
};

CompiledLayers compile_all(const Network& network) {
  const Compiled compiled = compile_exactly(network);
  const PortMap& ports = compiled.network.parts().ports;
  return {copied_layers(compiled.network), ports.input_of,  ports.output_of,
          ports.output_constant,           compiled.passes, compiled.connections_before,
          compiled.biases_changed};
}

CompiledLayers compile_all(const std::vector<Layer>& layers) {
  return compile_all(in_memory(layers));
}

InputRows map_inputs(const InputRows& inputs, const CompiledLayers& compiled) {
  InputRows mapped = dense_inputs(inputs.rows, compiled.layers.front().inputs(), 0);
  std::ranges::fill(mapped.value, 0.0f);
  for (Index r = 0; r < inputs.rows; ++r)
    for (Index c = 0; c < inputs.cols; ++c) {
      const Index to = compiled.input_of[c];
      if (to >= 0) mapped.value[r * mapped.cols + to] += inputs.value[r * inputs.cols + c];
    }
  return mapped;
}

// Largest difference between the network's outputs and the compiled network's, both by the reference, as a
// share of what the rounding of merged weights and folded constants may make of it.
double largest_difference(const std::vector<Layer>& layers, CompiledLayers& compiled) {
  const MemoryLayers before(layers);
  const InputRows inputs = dense_inputs(9, before.inputs(), 99);
  const std::vector<Index> rows{0, 1, 2, 3, 4, 5, 6, 7, 8};
  const auto expected = reference_outputs(before, inputs, rows, {});
  std::vector<double> found;
  bool runs = true;  // a layer without neurons cannot be a LayerSource; then all outputs are constants
  for (const Layer& layer : compiled.layers) runs = runs && layer.outputs() > 0 && layer.inputs() > 0;
  if (runs) found = reference_outputs(MemoryLayers(compiled.layers), map_inputs(inputs, compiled), rows, {});
  const auto outputs = compiled.output_of.size();
  const std::size_t inner = compiled.layers.back().outputs();
  double largest = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::span<const float> row(inputs.value.data() + r * before.inputs(), before.inputs());
    const std::vector<double> bounds = error_bounds(layers, {row.begin(), row.end()});
    for (std::size_t o = 0; o < outputs; ++o) {
      const Index at = compiled.output_of[o];
      if (at >= 0 && !runs) return 1e30;
      const double value = at < 0 ? double{compiled.output_constant[o]} : found[r * inner + at];
      largest = std::max(largest, std::abs(value - expected[r * outputs + o]) / bounds[o]);
    }
  }
  return largest;
}

TEST(Compile, MergesDuplicateNeuronsAndSumsTheirReadersWeights) {
  const std::vector<Layer> layers = {
      make_layer({3, 2, {0, 2, 4, 5}, {0, 1, 0, 1, 1}, {1, 2, 1, 2, 5}}, {-1, -1, -1}),
      make_layer({1, 3, {0, 3}, {0, 1, 2}, {10, 20, 30}}, {0}),
  };
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.layers[0].outputs(), 2);
  EXPECT_EQ(compiled.layers[1].weights, (CsrMatrix{1, 2, {0, 2}, {0, 1}, {30, 30}}));
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, MergesNeuronsThatBecomeAlikeOnlyThroughEarlierMerges) {
  const std::vector<Layer> layers = {
      make_layer({2, 1, {0, 1, 2}, {0, 0}, {2, 2}}, {0, 0}),
      make_layer({2, 2, {0, 1, 2}, {0, 1}, {3, 3}}, {0, 0}),  // they read different, but equal, neurons
      make_layer({1, 2, {0, 2}, {0, 1}, {1, 1}}, {0}),
  };
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.connections(), 3);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, KeepsNeuronsThatDifferInBiasOnly) {
  const std::vector<Layer> layers = {make_layer({2, 1, {0, 1, 2}, {0, 0}, {2, 2}}, {0, -1})};
  EXPECT_EQ(compile_all(layers).layers[0].outputs(), 2);
}

TEST(Compile, FoldsConstantNeuronsIntoTheirReadersBiases) {
  const std::vector<Layer> layers = {
      make_layer({3, 2, {0, 0, 2, 2}, {0, 1}, {1, 1}}, {0.5f, 0, -3}),  // neurons 0 and 2 read nothing
      make_layer({2, 3, {0, 3, 4}, {0, 1, 2, 0}, {4, 1, 9, 2}}, {1, 1}),
  };
  CompiledLayers compiled = compile_all(layers);
  EXPECT_TRUE(compiled.biases_changed);
  EXPECT_EQ(compiled.layers[1].weights, (CsrMatrix{1, 1, {0, 1}, {0}, {1}}));
  EXPECT_EQ(compiled.layers[1].bias, std::vector<float>{3});
  EXPECT_EQ(compiled.output_of, (std::vector<Index>{0, -1}));
  EXPECT_EQ(compiled.output_constant[1], 2.0f);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, FoldsConstantsThroughTheirActivation) {
  // Neuron 0 reads nothing: it is sigmoid(0) = 0.5, then leaky_relu(-3) = 0.75.
  std::vector<Layer> layers = {make_layer({2, 1, {0, 0, 1}, {0}, {1}}, {0, 0}),
                               make_layer({1, 2, {0, 2}, {0, 1}, {4, 1}}, {1})};
  layers[0].activation = Activation::sigmoid;
  EXPECT_EQ(compile_all(layers).layers[1].bias, std::vector<float>{3});
  layers[0].activation = ActivationFunction::leaky(-0.25f);
  layers[0].bias = {-3, 0};
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.layers[1].bias, std::vector<float>{4});
  EXPECT_EQ(compiled.layers[0].activation, ActivationFunction::leaky(-0.25f));
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, DropsWeightsThatCancel) {
  const std::vector<Layer> layers = {
      make_layer({2, 1, {0, 1, 2}, {0, 0}, {2, 2}}, {0, 0}),
      make_layer({1, 2, {0, 2}, {0, 1}, {5, -5}}, {1}),
  };
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.connections(), 0);
  EXPECT_EQ(compiled.output_constant[0], 1.0f);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, BooksConnectionsOfConstantsWithTheConstants) {
  // The second neuron has no inputs; the second layer's neurons differ; nothing is merged.
  const std::vector<Layer> layers = {make_layer({2, 2, {0, 2, 2}, {0, 1}, {1, 2}}, {0.1f, 0.5f}),
                                     make_layer({2, 2, {0, 2, 3}, {0, 1, 1}, {1, 3, 1}}, {0, 0}),
                                     make_layer({1, 2, {0, 2}, {0, 1}, {1, 1}}, {0})};
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.passes[1].name, "merge duplicate neurons");
  EXPECT_EQ(compiled.passes[1].neurons_removed, 0);
  EXPECT_EQ(compiled.passes[1].connections_removed, 0);
  EXPECT_EQ(compiled.passes[2].name, "fold constant neurons");
  EXPECT_EQ(compiled.passes[2].neurons_removed, 2);  // the second layer's second reads nothing else
  EXPECT_EQ(compiled.passes[2].connections_removed, 3);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, CountsWeightsOfZeroByThemselves) {
  const std::vector<Layer> layers = {
      make_layer({2, 3, {0, 3, 5}, {0, 1, 2, 0, 2}, {1, 0, 2, 0, 3}}, {0.1f, 0.2f}),
      make_layer({1, 2, {0, 2}, {0, 1}, {1, 1}}, {0})};
  CompiledLayers compiled = compile_all(layers);
  ASSERT_FALSE(compiled.passes.empty());
  EXPECT_EQ(compiled.passes[0].name, "remove weights of zero");
  EXPECT_EQ(compiled.passes[0].connections_removed, 2);
  EXPECT_EQ(compiled.passes[1].neurons_removed, 0);
  EXPECT_EQ(compiled.passes[1].connections_removed, 0);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, DropsUnreadNeuronsAndWhatOnlyTheyRead) {
  const std::vector<Layer> layers = {
      make_layer({2, 3, {0, 1, 3}, {0, 1, 2}, {1, 1, 2}}, {0, 0}),
      make_layer({2, 2, {0, 1, 2}, {0, 1}, {1, 1}}, {0, 0}),  // neuron 1 is read by nobody below
      make_layer({1, 2, {0, 1}, {0}, {1}}, {0}),
  };
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.connections(), 3);
  EXPECT_EQ(compiled.input_of, (std::vector<Index>{0, -1, -1}));
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, AddsUpInputsThatAreReadAlike) {
  const std::vector<Layer> layers = {make_layer({2, 3, {0, 3, 5}, {0, 1, 2, 0, 1}, {2, 2, 4, 3, 3}}, {0, 0})};
  CompiledLayers compiled = compile_all(layers);
  EXPECT_EQ(compiled.input_of, (std::vector<Index>{0, 0, 1}));
  EXPECT_EQ(compiled.connections(), 3);
  EXPECT_LE(largest_difference(layers, compiled), 1);
}

TEST(Compile, KeepsTheOutputsOfAnyNetwork) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Layer> layers;
    Index width = *rc::gen::inRange<Index>(1, 8);
    const auto depth = *rc::gen::inRange(1, 5);
    for (int l = 0; l < depth; ++l) {
      const Index next = *rc::gen::inRange<Index>(1, 12);
      const double density = *rc::gen::element(0.1, 0.4, 0.9);
      CsrMatrix w = random_csr(next, width, density, *rc::gen::arbitrary<std::uint64_t>());
      // Few distinct values make duplicates, cancellation and constants likely.
      Random random(*rc::gen::arbitrary<std::uint64_t>());
      for (float& v : w.value) v = random.below(3) == 0 ? -1.0f : 1.0f;
      std::vector<float> bias(next);
      for (float& b : bias) b = static_cast<float>(random.below(3)) - 1;
      layers.push_back(make_layer(std::move(w), std::move(bias), random.below(2) == 0 ? 3.0f : kNoCap));
      layers.back().activation.kind = static_cast<Activation>(random.below(kActivationNames.size()));
      layers.back().activation.slope = 0.5f - static_cast<float>(random.below(2));
      width = next;
    }
    CompiledLayers compiled = compile_all(layers);
    RC_ASSERT(largest_difference(layers, compiled) <= 1);
    for (const Layer& layer : compiled.layers) validate(layer, "compiled layer");
  }));
}

TEST(Compile, ReducesRadixNetAsItsRecipeSays) {
  // 1024 neurons: 64 residues, and 32 distinct neurons where the shift is half of them; within the first
  // block each reads two merged neurons.
  const CompiledLayers compiled = compile_all(radix_net(1024, 6, 1));
  for (std::size_t l = 0; l < 6; ++l) {
    EXPECT_EQ(compiled.layers[l].outputs(), l == 5 ? 32 : 64) << l;
    EXPECT_EQ(compiled.layers[l].weights.nnz(), l == 5 ? 64 : 128) << l;
  }
  EXPECT_EQ(compiled.original_connections, 6 * 32768);
}

TEST(Facts, SpeakOfSaturationOfReluOnly) {
  Layer layer = *RadixNet(64, 1, 1).layer(0);
  for (const Activation activation : {Activation::identity, Activation::leaky_relu, Activation::sigmoid,
                                      Activation::tanh, Activation::softplus}) {
    layer.activation = activation;
    EXPECT_FALSE(facts_of(layer, 32).saturation_stays);
    EXPECT_FALSE(facts_of(layer, 32).zero_stays_zero) << "its biases are not zero";
  }
}

TEST(Facts, KnowWhenSaturationStays) {
  Layer layer = *RadixNet(64, 1, 1).layer(0);
  EXPECT_TRUE(facts_of(layer, 32).saturation_stays);
  EXPECT_TRUE(facts_of(layer, 32).zero_stays_zero);
  EXPECT_TRUE(facts_of(layer, 32).nonnegative);
  EXPECT_FALSE(facts_of(layer, kNoCap).saturation_stays);
  EXPECT_FALSE(facts_of(layer, 16).saturation_stays) << "2 · 16 − 0.3 is below the cap";
  layer.weights.value[5] = -0.0625f;
  EXPECT_FALSE(facts_of(layer, 32).nonnegative);
  EXPECT_FALSE(facts_of(layer, 32).saturation_stays);
}

}  // namespace
}  // namespace filigree::internal
