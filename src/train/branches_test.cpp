// SPDX-License-Identifier: Apache-2.0
// Tests of exits and mixtures in training: gradients against an independent forward pass in double and its
// central differences, what the record holds, and what they are for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "train/pass.h"
#include "train/test_training.h"
#include "train/topology.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

constexpr std::uint64_t kKey = 0x1234567890abcdefu;

struct Trial {
  TrainOptions options;
  DataRows data;
  InputScaling scaling;
  std::vector<Index> rows;
  std::vector<TrainLayer> layers;

  Trial(const TrainOptions& given, std::size_t samples, Kind kind = Kind::floats) : options(given) {
    data = random_rows(kind, 150, 12, 4, 17);
    Random random(18);
    for (std::size_t i = 0; i < samples; ++i) rows.push_back(random.below(150));
    scaling = input_scaling(Scaling::standard, data, rows);
    layers = make_layers(options, kind == Kind::sparse, 1);
    for (TrainLayer& layer : layers) {
      for (float& bias : layer.bias) bias = 0.3 * random.normal();
      // Gates with an opinion, so that routes do not hang on a rounding.
      if (layer.role == LayerRole::gate)
        for (float& value : layer.value) value *= 10;
      refresh_transposed(layer);
    }
  }
  Batch batch() const { return {data, scaling, rows}; }
};

TrainOptions small_network() {
  TrainOptions options;
  options.network.neurons = {12, 9, 7, 4};
  options.network.sparsity = 0.4;
  return options;
}

double loss_of(const std::vector<double>& y, std::size_t label, Loss loss) {
  double powers = 0, sum = 0;
  for (const double each : y) powers += std::exp(each);
  for (std::size_t c = 0; c < y.size(); ++c) {
    const double target = c == label ? 1 : 0;
    sum += loss == Loss::mse ? 0.5 * (y[c] - target) * (y[c] - target) : -target * (y[c] - std::log(powers));
  }
  return sum;
}

std::vector<double> through(const DoubleLayer& layer, const std::vector<double>& x) {
  std::vector<double> y(layer.bias);
  for (std::size_t o = 0; o < layer.outputs; ++o) {
    for (std::size_t i = 0; i < layer.inputs; ++i) y[o] += layer.weight[o * layer.inputs + i] * x[i];
    y[o] = activated(layer, y[o]);
  }
  return y;
}

// What the gate makes of a row.
struct Route {
  std::vector<double> share, weight;  // of each expert; weight is zero for those not chosen
};
Route route(const DoubleLayer& gate, const std::vector<double>& x, std::size_t active) {
  const std::vector<double> z = through(gate, x);
  Route result{std::vector<double>(z.size()), std::vector<double>(z.size(), 0.0)};
  double sum = 0, chosen = 0;
  for (const double each : z) sum += std::exp(each);
  for (std::size_t e = 0; e < z.size(); ++e) result.share[e] = std::exp(z[e]) / sum;
  std::vector<std::size_t> order(z.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return z[a] > z[b]; });
  for (std::size_t i = 0; i < active; ++i) chosen += result.share[order[i]];
  for (std::size_t i = 0; i < active; ++i)
    result.weight[order[i]] = result.share[order[i]] / (active == 1 ? 1 : chosen);
  return result;
}

// The mean over the batch of everything that is trained for. `routed`: choices that fell on each expert of
// each mixture; while it is empty it is filled, and then taken as given: it has no slope.
double training_loss(const Trial& setup, const std::vector<DoubleLayer>& network,
                     std::vector<std::vector<double>>& routed) {
  const TrainOptions& o = setup.options;
  const std::size_t active = o.network.active_experts;
  const std::size_t experts = o.network.experts;
  const bool counting = routed.empty();
  std::vector<std::vector<double>> mean_share(o.network.mixtures.size(), std::vector<double>(experts, 0.0));
  if (counting) routed = mean_share;
  double total = 0;
  for (const Index row : setup.rows) {
    std::vector<double> x = inputs_of(setup.data, setup.scaling, row);
    const std::size_t label = setup.data.label[row];
    std::size_t at = 0, mixture = 0;
    for (std::size_t level = 0; level + 1 < o.network.neurons.size(); ++level) {
      const auto find = [&](LayerRole role, std::size_t reads) {
        std::size_t l = 0;
        while (l < network.size() && (setup.layers[l].role != role || setup.layers[l].level != reads)) ++l;
        return l;
      };
      if (setup.layers[at].role == LayerRole::expert) {
        const Route taken = route(network[find(LayerRole::gate, level)], x, active);
        std::vector<double> y(network[at].outputs, 0.0);
        for (std::size_t e = 0; e < experts; ++e, ++at) {
          mean_share[mixture][e] += taken.share[e];
          if (taken.weight[e] == 0) continue;
          if (counting) routed[mixture][e] += 1;
          const std::vector<double> own = through(network[at], x);
          for (std::size_t n = 0; n < y.size(); ++n) y[n] += taken.weight[e] * own[n];
        }
        x = y;
        ++mixture;
      } else {
        x = through(network[at++], x);
      }
      if (const std::size_t exit = find(LayerRole::exit, level + 1); exit < network.size())
        total += o.network.exit_weight * loss_of(through(network[exit], x), label, o.learning.loss);
    }
    total += loss_of(x, label, o.learning.loss);
  }
  const double samples = setup.rows.size();
  for (std::size_t m = 0; m < routed.size(); ++m)
    for (std::size_t e = 0; e < experts; ++e)
      total += o.network.balance * experts * routed[m][e] / (active * samples) * mean_share[m][e];
  return total / samples;
}

// As in gradient_test.cpp, with up to three more products on the way.
constexpr double kRoundings = 150 * 1.2e-7;

void check_gradients(const TrainOptions& options, std::size_t widest, Kind kind = Kind::floats) {
  SCOPED_TRACE(fmt::format("{}, {}, exits {}, mixtures {}, {} of {}, panels for {}",
                           word(options.network.activation), word(options.learning.loss),
                           options.network.exits.size(), options.network.mixtures.size(),
                           options.network.active_experts, options.network.experts, widest));
  const std::size_t samples = options.network.mixtures.empty() ? widest + 8 : widest;
  Trial setup(options, samples, kind);
  std::vector<DoubleLayer> network = in_double(setup.layers);
  SlicePass pass(setup.layers, setup.options, widest);
  Record record(setup.layers, samples);
  pass.train(setup.layers, setup.batch(), samples, 0, kKey, 0, &record);
  std::vector<std::vector<double>> routed;
  training_loss(setup, network, routed);
  const auto slope = [&](double& parameter) {
    constexpr double kStep = 1e-6;
    const double before = parameter;
    parameter = before + kStep;
    const double above = training_loss(setup, network, routed);
    parameter = before - kStep;
    const double below = training_loss(setup, network, routed);
    parameter = before;
    return (above - below) / (2 * kStep);
  };
  std::size_t seen = 0;
  for (std::size_t l = 0; l < network.size(); ++l) {
    const TrainLayer& layer = setup.layers[l];
    DoubleLayer& d = network[l];
    std::vector<double> truth, actual;
    for (const Link& link : links(layer)) {
      truth.push_back(slope(d.weight[link.output * d.inputs + link.input]));
      actual.push_back(double{layer.gradient[link.entry]});
      const GradientAt recorded = gradient_at(l, record, setup.data, link.output, link.input);
      if (!layer.by_input || l > 0) {
        EXPECT_NEAR(actual.back(), recorded.sum, 128 * 1.2e-7 * recorded.magnitude + 1e-7)
            << "recorded, " << l;
      }
    }
    for (std::size_t o = 0; o < d.bias.size(); ++o) {
      truth.push_back(slope(d.bias[o]));
      actual.push_back(double{layer.bias_gradient[o]});
    }
    double largest = 1e-3;
    for (const double each : truth) largest = std::max(largest, std::fabs(each));
    if (layer.role != LayerRole::expert) {  // an expert may have been given nothing
      EXPECT_GT(largest, 1e-3) << "nothing to see in layer " << l + 1;
    }
    seen += largest > 1e-3;
    for (std::size_t i = 0; i < truth.size(); ++i)
      EXPECT_NEAR(actual[i], truth[i], kRoundings * largest) << "parameter " << i << " of layer " << l + 1;
  }
  EXPECT_GE(4 * seen, 3 * network.size());
}

constexpr HiddenActivation kActivations[] = {HiddenActivation::relu, HiddenActivation::all_relu,
                                             HiddenActivation::tanh};

TEST(Exits, GradientsAreTheSlopeOfAllLosses) {
  for (const HiddenActivation activation : kActivations)
    for (const Loss loss : {Loss::cross_entropy, Loss::mse})
      for (const Kind kind : {Kind::floats, Kind::sparse})
        for (const bool dense : {false, true}) {
          TrainOptions options = small_network();
          options.network.activation = activation;
          options.learning.loss = loss;
          options.network.dense = dense;
          options.network.exits = {1, 2};
          options.network.exit_weight = 0.7;
          options.network.exit_density = 0.6;
          check_gradients(options, 32, kind);
        }
}

TEST(Mixture, GradientsAreTheSlopeOfLossAndBalance) {
  const auto check = [](HiddenActivation activation, Index active, const std::vector<Index>& mixtures) {
    TrainOptions options = small_network();
    options.network.activation = activation;
    options.network.mixtures = mixtures;
    options.network.experts = 4;
    options.network.active_experts = active;
    options.network.balance = 0.2;
    options.network.exits = {1};
    check_gradients(options, active == 2 ? 72 : 32);  // two panels, or one
  };
  for (const Index active : {1, 2, 3})
    for (const auto& mixtures : {std::vector<Index>{1}, {2}, {1, 2}})
      check(HiddenActivation::relu, active, mixtures);
  check(HiddenActivation::all_relu, 2, {1, 2});
  check(HiddenActivation::tanh, 1, {1, 2});
}

TEST(Mixture, RecordForgetsWhatAnExpertWasGivenBefore) {
  TrainOptions options = small_network();
  options.network.mixtures = {1};
  options.network.experts = 3;
  options.network.active_experts = 1;
  Trial setup(options, 64);
  SlicePass pass(setup.layers, setup.options, 64);
  Record record(setup.layers, 64);
  for (Record::LayerRecord& layer : record.layers) std::ranges::fill(layer.delta, 5.0f);
  pass.train(setup.layers, setup.batch(), 64, 0, kKey, 0, &record);
  for (std::size_t b = 0; b < 64; ++b) {
    std::size_t given = 0;
    for (std::size_t e = 0; e < 3; ++e) {
      bool any = false;
      for (std::size_t o = 0; o < 9; ++o) {
        const float delta = record.layers[e].delta[o * record.width + b];
        EXPECT_NE(delta, 5.0f);
        any = any || delta != 0;
      }
      given += any;
    }
    EXPECT_LE(given, 1u) << "sample " << b;
  }
}

TEST(Mixture, InputsOfDifferentPanelsDropOutDifferently) {
  TrainOptions options = small_network();
  options.network.mixtures = {1};
  options.network.experts = 2;
  options.learning.input_dropout = 0.5;
  Trial setup(options, 128);
  std::ranges::fill(setup.rows, 7);  // one row again and again
  SlicePass pass(setup.layers, setup.options, 128);
  Record record(setup.layers, 128);
  pass.train(setup.layers, setup.batch(), 128, 0, kKey, 0, &record);
  const auto sample = [&](std::size_t b) {
    std::vector<float> x;
    for (std::size_t i = 0; i < 12; ++i) x.push_back(record.layers[0].x[i * record.width + b]);
    return x;
  };
  std::size_t alike = 0;
  for (std::size_t b = 0; b < 64; ++b) alike += sample(b) == sample(64 + b);
  EXPECT_LT(alike, 4u);
}

TEST(Mixture, AnExpertWithoutSamplesKeepsItsConnections) {
  TrainOptions options = small_network();
  options.network.mixtures = {1};
  options.network.experts = 3;
  options.evolution.rule = Evolve::ertl;
  options.evolution.threshold = 1e-9;  // nothing is small
  std::vector<TrainLayer> layers = make_layers(options, false, 1);
  const DataRows data = random_rows(Kind::floats, 64, 12, 4, 3);
  Record record = random_record(layers, 64, 64, 4);
  std::ranges::fill(record.layers[2].delta, 0.0f);                  // the third expert got nothing
  std::fill_n(record.layers[0].delta.begin(), record.width, 0.0f);  // a neuron of the first never fired
  const std::vector<float> before = layers[2].value;
  const std::size_t fan_in = layers[0].pattern.row_begin[1] - layers[0].pattern.row_begin[0];
  ASSERT_GT(fan_in, 0u);
  const RecordedGrowth growth(layers, record, data);
  const Evolution evolution = evolve(layers, options, {1, 100, 0.1}, &growth, 1);
  EXPECT_EQ(layers[2].value, before);
  EXPECT_EQ(evolution.dropped, static_cast<Offset>(fan_in));
}

// Of all choices, the share that falls on each expert of a trained network.
std::vector<double> shares_of_choices(const Dataset& data, double balance) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 32, data.classes};
  options.network.sparsity = 0.7;
  options.network.mixtures = {1};
  options.network.experts = 8;
  options.network.balance = balance;
  options.run.epochs = 6;
  options.evolution.update_every = 250;
  const TrainState state = run_training(data, options, {}, {}).state;
  const auto gate = std::ranges::find(state.layers, LayerRole::gate, &TrainLayer::role);
  const DoubleLayer reference = in_double({*gate}).front();
  std::vector<double> share(8, 0.0);
  for (Index row = 0; row < data.test.rows; ++row) {
    const Route taken = route(reference, inputs_of(data.test, state.facts.scaling, row), 2);
    for (std::size_t e = 0; e < 8; ++e) share[e] += (taken.weight[e] > 0 ? 0.5 : 0.0) / data.test.rows;
  }
  return share;
}

TEST(Mixture, BalanceSpreadsRowsOverExperts) {
  const Dataset data = load_dataset({.source = "contexts:6000"}, {});
  const std::vector<double> balanced = shares_of_choices(data, 0.05), left_alone = shares_of_choices(data, 0);
  const auto spread = [](const std::vector<double>& share) {
    return std::ranges::max(share) - std::ranges::min(share);
  };
  EXPECT_LT(spread(balanced), 0.06) << "an even share is 0.125";
  EXPECT_GT(spread(left_alone), 2 * spread(balanced));
}

TEST(Layout, PutsExpertsInPlaceOfTheirLayerAndBranchesLast) {
  TrainOptions options = small_network();
  options.network.mixtures = {2};
  options.network.experts = 3;
  options.network.exits = {1, 2};
  options.network.exit_density = 0.5;
  const std::vector<Offset> plain = connections_per_layer(options);
  const std::vector<LayerShape> shapes = layout(options);
  ASSERT_EQ(shapes.size(), 1u + 3 + 1 + 1 + 2);
  EXPECT_EQ(shapes[0].role, LayerRole::chain);
  for (std::size_t e = 1; e <= 3; ++e) {
    EXPECT_EQ(shapes[e].role, LayerRole::expert);
    EXPECT_EQ(shapes[e].level, 1u);
    EXPECT_EQ(shapes[e].connections, plain[1]);
  }
  EXPECT_EQ(shapes[4].role, LayerRole::chain);
  EXPECT_EQ(shapes[5].role, LayerRole::gate);
  EXPECT_EQ(shapes[5].outputs, 3);
  EXPECT_EQ(shapes[6].connections, 9 * 4 / 2);
  EXPECT_EQ(shapes[7].inputs, 7);
  const std::vector<TrainLayer> layers = make_layers(options, false, 1);
  EXPECT_EQ(levels_of(layers), (std::vector<std::size_t>{0, 1, 1, 1, 2, 1, 1, 2}));
}

}  // namespace
}  // namespace filigree::internal
