// SPDX-License-Identifier: Apache-2.0
// Tests of growth: the function stays, the budget holds.
#include "train/grow.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <numeric>

#include "infer/reference.h"
#include "network/test_networks.h"
#include "sparse/test_errors.h"
#include "sparse/test_inputs.h"
#include "train/test_training.h"
#include "train/topology.h"

namespace filigree::internal {
namespace {

std::vector<Layer> random_model(const std::vector<Index>& network, double sparsity,
                                HiddenActivation activation, std::uint64_t seed) {
  TrainOptions options;
  options.network.neurons = network;
  options.network.sparsity = sparsity;
  options.network.activation = activation;
  options.run.seed = seed;
  std::vector<Layer> model;
  Random random(seed);
  for (const TrainLayer& layer : make_layers(options, false, 1)) {
    model.push_back(to_layer(layer));
    for (float& b : model.back().bias) b = random.normal();
  }
  return model;
}

void expect_same_function(const std::vector<Layer>& before, const std::vector<Layer>& after,
                          double tolerance) {
  Random random(3);
  const Index inputs = before.front().inputs();
  std::vector<float> values(static_cast<std::size_t>(inputs) * 8);
  for (float& v : values) v = random.uniform(-1, 1);
  const InputRows rows = full_rows(inputs, values);
  std::vector<Index> all(8);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<double> a = reference_outputs(MemoryLayers(before), rows, all, {});
  const std::vector<double> b = reference_outputs(MemoryLayers(after), rows, all, {});
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance * (1 + std::fabs(a[i])));
}

TEST(Widened, ComputesTheSame) {
  rc::check([] {
    const auto activation =
        *rc::gen::element(HiddenActivation::relu, HiddenActivation::tanh, HiddenActivation::leaky_relu);
    const std::vector<Layer> model = random_model({7, *rc::gen::inRange(3, 12), 9, 4}, 0.4, activation,
                                                  *rc::gen::arbitrary<std::uint32_t>());
    Random random(*rc::gen::arbitrary<std::uint32_t>());
    const auto l = *rc::gen::inRange<std::size_t>(0, 2);
    const Index width = model[l].outputs();
    std::vector<Index> split;
    for (int i = *rc::gen::inRange(0, 15); i > 0; --i) split.push_back(random.below(width));
    const std::vector<Layer> wide = widened(model, l, split, random);
    RC_ASSERT(wide[l].outputs() == width + static_cast<Index>(split.size()));
    for (const Layer& layer : wide) validate(layer, "wide");
    expect_same_function(model, wide, 1e-5);
    RC_ASSERT(!testing::Test::HasFailure());
  });
}

TEST(Widened, SharesWhatReadersGetUnequally) {
  // A copy that did the same as its original would stay the same for ever.
  const std::vector<Layer> model = random_model({6, 5, 3}, 0, HiddenActivation::relu, 1);
  Random random(2);
  const std::vector<Layer> wide = widened(model, 0, {0, 1, 2, 3, 4}, random);
  for (Index r = 0; r < 3; ++r)
    for (std::size_t n = 0; n < 5; ++n) {
      const auto values = wide[1].weights.view().row_values(r);
      const double share = values[n] / (values[n] + values[n + 5]);
      EXPECT_GE(share, 0.29);
      EXPECT_LE(share, 0.71);
      EXPECT_NE(values[n], values[n + 5]);
    }
}

TEST(Deepened, ComputesExactlyTheSame) {
  const std::vector<Layer> model = random_model({7, 8, 9, 4}, 0.4, HiddenActivation::relu, 4);
  for (const std::size_t l : {0u, 1u}) {
    const std::vector<Layer> deep = deepened(model, l);
    ASSERT_EQ(deep.size(), 4u);
    expect_same_function(model, deep, 0);
  }
  const std::vector<Layer> other = random_model({7, 8, 4}, 0.4, HiddenActivation::tanh, 4);
  EXPECT_NE(error_of([&] { deepened(other, 0); }).find("tanh"), std::string::npos);
}

TEST(WithMoreNeurons, SplitsTheLargestGradientsWithinTheBudget) {
  const std::vector<Layer> model = random_model({20, 10, 10, 5}, 0.5, HiddenActivation::relu, 5);
  std::vector<std::vector<double>> gradients(2, std::vector<double>(10, 1.0));
  gradients[0][7] = 9;
  gradients[1][3] = 9;
  Random random(1);
  const std::vector<Layer> one = with_more_neurons(model, gradients, 0.1, 1000, random);
  ASSERT_EQ(one[0].outputs(), 11);
  ASSERT_EQ(one[1].outputs(), 11);
  const auto row = [](const std::vector<Layer>& m, std::size_t l, Index r) {
    const auto columns = m[l].weights.view().row_columns(r);
    return std::vector<Index>(columns.begin(), columns.end());
  };
  EXPECT_EQ(row(one, 0, 10), row(model, 0, 7));
  EXPECT_EQ(row(one, 1, 10), row(one, 1, 3));
  expect_same_function(model, one, 1e-5);
  for (const Offset more : {0, 10, 30, 100}) {
    const Offset most = connections_of(model) + more;
    const std::vector<Layer> grown = with_more_neurons(model, gradients, 0.8, most, random);
    EXPECT_LE(connections_of(grown), most);
    EXPECT_GE(grown[0].outputs(), 10 + (more >= 30 ? 1 : 0));
  }
}

TEST(NeuronGradients, AreThoseOfTheirConnections) {
  const Dataset data = separable_data(Kind::floats, 64, 3, 1);
  TrainOptions options;
  options.run.batch = 32;
  const Network network =
      in_memory(random_model({data.train.features, 12, data.classes}, 0, HiddenActivation::relu, 6));
  const auto gradients = neuron_gradients(network, data, options);
  ASSERT_EQ(gradients.size(), 1u);
  ASSERT_EQ(gradients[0].size(), 12u);
  double sum = 0;
  for (const double g : gradients[0]) sum += g;
  EXPECT_GT(sum, 0);
  EXPECT_EQ(neuron_gradients(network, data, options), gradients);
}

}  // namespace
}  // namespace filigree::internal
