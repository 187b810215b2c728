// SPDX-License-Identifier: Apache-2.0
// Tests of forward and backward: losses and gradients against an independent forward pass in double and its
// central differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "kernels/dropout.h"
#include "train/pass.h"
#include "train/test_training.h"
#include "train/topology.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kLanes = 32;
constexpr std::uint64_t kKey = 0x1234567890abcdefu;

struct Case {
  Kind kind = Kind::floats;
  bool dense = false;
  HiddenActivation activation = HiddenActivation::relu;
  Loss loss = Loss::cross_entropy;
  double smoothing = 0, input_dropout = 0, dropout = 0;
  std::size_t widest = kLanes;  // samples of a panel

  std::string name() const {
    constexpr const char* kinds[] = {"floats", "bytes", "sparse rows"};
    return fmt::format("{}{}, {}, {}, smoothing {}, dropout {} and {}, panels of {}",
                       kinds[static_cast<int>(kind)], dense ? ", dense" : "", word(activation), word(loss),
                       smoothing, input_dropout, dropout, widest);
  }
};

// A batch, and a network whose biases are not zero.
struct Trial {
  TrainOptions options;
  DataRows data;
  InputScaling scaling;
  std::vector<Index> rows;
  std::vector<TrainLayer> layers;
  std::size_t widest;

  Trial(const Case& c, std::size_t samples, std::size_t slices) : widest(c.widest) {
    options.network.neurons = {12, 9, 7, 4};
    options.network.sparsity = 0.5;
    options.network.dense = c.dense;
    options.network.activation = c.activation;
    options.network.slope = 0.3;
    options.learning.loss = c.loss;
    options.learning.label_smoothing = c.smoothing;
    options.learning.input_dropout = c.input_dropout;
    options.learning.dropout = c.dropout;
    data = random_rows(c.kind, 150, 12, 4, 17);
    Random random(18);
    for (std::size_t i = 0; i < samples; ++i) rows.push_back(random.below(150));
    scaling = input_scaling(Scaling::standard, data, rows);
    layers = make_layers(options, c.kind == Kind::sparse, slices);
    for (TrainLayer& layer : layers)
      for (float& bias : layer.bias) bias = 0.3 * random.normal();
  }
  Batch batch() const { return {data, scaling, rows}; }
  // Panels hold 32 or 64 samples of sparse layers, all that may come of dense ones.
  std::size_t stride() const {
    if (!options.network.dense) return widest > kLanes ? 2 * kLanes : kLanes;
    return (widest + kLanes - 1) / kLanes * kLanes;
  }
};

// What dropout multiplies each place by: panels of `stride` samples, each with a key of its own.
class Masks {
 public:
  Masks(const Trial& setup, std::size_t stride) : stride_(stride) {
    const std::size_t parts = (setup.rows.size() + stride - 1) / stride;
    for (std::size_t part = 0; part < parts; ++part) {
      const std::uint64_t key = mix64(kKey + part * stride / kLanes);
      auto& levels = factor_.emplace_back();
      for (std::size_t level = 0; level + 1 < setup.options.network.neurons.size(); ++level) {
        std::vector<float> ones(setup.options.network.neurons[level] * stride, 1.0f);
        const double rate =
            level == 0 ? setup.options.learning.input_dropout : setup.options.learning.dropout;
        drop_out_reference(mix64(key + level), rate, ones.data(), ones.size());
        levels.push_back(std::move(ones));
      }
    }
  }
  double operator()(std::size_t level, std::size_t neuron, std::size_t sample) const {
    return double{factor_[sample / stride_][level][neuron * stride_ + sample % stride_]};
  }

 private:
  std::size_t stride_;
  std::vector<std::vector<std::vector<float>>> factor_;
};

// Sparse rows drop values in the order they occur, a panel at a time.
std::vector<std::vector<double>> dropped_sparse_inputs(const Trial& setup) {
  std::vector<std::vector<double>> inputs(setup.rows.size(), std::vector<double>(12, 0.0));
  for (std::size_t begin = 0; begin < setup.rows.size(); begin += setup.stride()) {
    const std::size_t end = std::min(begin + setup.stride(), setup.rows.size());
    std::vector<float> values;
    const auto for_each_value = [&](const auto& visit) {
      for (std::size_t b = begin; b < end; ++b) {
        const std::size_t row = setup.rows[b];
        for (Offset i = setup.data.row_begin[row]; i < setup.data.row_begin[row + 1]; ++i)
          visit(b, static_cast<std::size_t>(i));
      }
    };
    for_each_value([&](std::size_t, std::size_t i) { values.push_back(setup.data.value[i]); });
    values.resize((values.size() + 31) / 32 * 32);
    drop_out_reference(mix64(mix64(kKey + begin / kLanes)), setup.options.learning.input_dropout,
                       values.data(), values.size());
    std::size_t at = 0;
    for_each_value(
        [&](std::size_t b, std::size_t i) { inputs[b][setup.data.column[i]] = double{values[at++]}; });
  }
  return inputs;
}

// The mean loss over the batch, in double.
struct Truth {
  const Trial& setup;
  std::vector<std::vector<double>> inputs;
  std::function<double(std::size_t, std::size_t, std::size_t)> mask;
  double smoothing;

  double loss(const std::vector<DoubleLayer>& network, std::int64_t* correct = nullptr) const {
    double sum = 0;
    for (std::size_t b = 0; b < inputs.size(); ++b) {
      const std::vector<double> y = outputs_of(
          network, inputs[b],
          [&](std::size_t level, std::size_t neuron) { return mask ? mask(level, neuron, b) : 1.0; });
      const std::size_t row = setup.rows[b];
      const std::size_t label = setup.data.label[row];
      double powers = 0;
      for (const double each : y) powers += std::exp(each);
      for (std::size_t c = 0; c < y.size(); ++c) {
        const double target = smoothing / y.size() + (c == label ? 1 - smoothing : 0.0);
        sum += setup.options.learning.loss == Loss::mse ? 0.5 * (y[c] - target) * (y[c] - target)
                                                        : -target * (y[c] - std::log(powers));
      }
      if (correct != nullptr)
        *correct += std::max_element(y.begin(), y.end()) - y.begin() == setup.data.label[row];
    }
    return sum / inputs.size();
  }
};

std::vector<std::vector<double>> plain_inputs(const Trial& setup) {
  std::vector<std::vector<double>> inputs;
  for (const Index row : setup.rows) inputs.push_back(inputs_of(setup.data, setup.scaling, row));
  return inputs;
}

Truth training_truth(const Trial& setup) {
  const Masks masks(setup, setup.stride());
  std::vector<std::vector<double>> inputs;
  if (setup.layers.front().by_input) {
    inputs = dropped_sparse_inputs(setup);
  } else {
    inputs = plain_inputs(setup);
    for (std::size_t b = 0; b < inputs.size(); ++b)
      for (std::size_t f = 0; f < inputs[b].size(); ++f) inputs[b][f] *= masks(0, f, b);
  }
  return {setup, inputs, masks, setup.options.learning.label_smoothing};
}

// The slope of the loss by one parameter.
double slope(const Truth& truth, std::vector<DoubleLayer>& network, double& parameter) {
  constexpr double kStep = 1e-6;  // of a loss near 1: 1e-10 of rounding, 1e-12 of curvature
  const double before = parameter;
  parameter = before + kStep;
  const double above = truth.loss(network);
  parameter = before - kStep;
  const double below = truth.loss(network);
  parameter = before;
  return (above - below) / (2 * kStep);
}

// A gradient is a sum over 40 or 72 samples of products of what came through sums of up to 12 terms and three
// activations, each within 1e-6 (8 epsilon): about 100 roundings at most, of the size of the layer's largest.
constexpr double kRoundings = 100 * 1.2e-7;

void expect_near(double actual, double expected, double largest, const std::string& what) {
  EXPECT_NEAR(actual, expected, kRoundings * std::max(largest, 1e-3)) << what;
}

void check_gradients(const Case& c) {
  SCOPED_TRACE(c.name());
  const std::size_t samples = c.widest + 8;  // a whole panel and a part of one
  Trial setup(c, samples, 1);
  const Truth truth = training_truth(setup);
  std::vector<DoubleLayer> network = in_double(setup.layers);
  SlicePass pass(setup.layers, setup.options, c.widest);
  const LossSum sum = pass.train(setup.layers, setup.batch(), samples, 0, kKey, 0, nullptr);
  std::int64_t correct = 0;
  EXPECT_NEAR(sum.loss / static_cast<double>(samples), truth.loss(network, &correct), 1e-5);
  EXPECT_EQ(sum.score, correct);
  for (std::size_t l = 0; l < network.size(); ++l) {
    const TrainLayer& layer = setup.layers[l];
    DoubleLayer& d = network[l];
    std::vector<double> weights, biases;
    double largest = 0;
    for (const Link& link : links(layer))
      weights.push_back(slope(truth, network, d.weight[link.output * d.inputs + link.input]));
    for (double& bias : d.bias) biases.push_back(slope(truth, network, bias));
    for (const double each : weights) largest = std::max(largest, std::fabs(each));
    for (const double each : biases) largest = std::max(largest, std::fabs(each));
    EXPECT_GT(largest, 1e-4) << "nothing to see";
    std::size_t at = 0;
    for (const Link& link : links(layer))
      expect_near(layer.gradient[link.entry], weights[at++], largest,
                  fmt::format("weight {} from {} of layer {}", link.output, link.input, l + 1));
    for (std::size_t o = 0; o < biases.size(); ++o)
      expect_near(layer.bias_gradient[o], biases[o], largest, fmt::format("bias {} of layer {}", o, l + 1));
  }
}

class Gradient : public testing::TestWithParam<HiddenActivation> {};

TEST_P(Gradient, IsTheSlopeOfTheLoss) {
  for (const Loss loss : {Loss::cross_entropy, Loss::mse})
    for (const Kind kind : kKinds)
      for (const bool dense : {false, true}) check_gradients({kind, dense, GetParam(), loss, 0, 0, 0});
}

TEST_P(Gradient, IsTheSlopeOfTheLossWithDropoutAndSmoothing) {
  for (const Loss loss : {Loss::cross_entropy, Loss::mse})
    for (const Kind kind : {Kind::floats, Kind::sparse})
      for (const bool dense : {false, true}) {
        check_gradients({kind, dense, GetParam(), loss, 0.1, 0.25, 0.5, 2 * kLanes});
      }
}

INSTANTIATE_TEST_SUITE_P(AllActivations, Gradient,
                         testing::Values(HiddenActivation::relu, HiddenActivation::leaky_relu,
                                         HiddenActivation::all_relu, HiddenActivation::sigmoid,
                                         HiddenActivation::tanh, HiddenActivation::softplus),
                         [](const auto& tested) {
                           std::string name(word(tested.param));
                           std::erase(name, '-');
                           return name;
                         });

TEST(SlicePass, LeavesDropoutOutWhereOnlyHiddenOrOnlyInputsAreToDrop) {
  for (const bool dense : {false, true})
    for (const Kind kind : {Kind::floats, Kind::sparse}) {
      check_gradients({kind, dense, HiddenActivation::relu, Loss::cross_entropy, 0, 0.3, 0});
      check_gradients({kind, dense, HiddenActivation::tanh, Loss::cross_entropy, 0, 0, 0.3});
    }
}

TEST(SlicePass, EvaluatesWithoutDropoutOrSmoothing) {
  for (const Kind kind : kKinds) {
    for (const bool dense : {false, true}) {
      for (const Loss loss : {Loss::cross_entropy, Loss::mse}) {
        const Case c{kind, dense, HiddenActivation::all_relu, loss, 0.2, 0.3, 0.4};
        SCOPED_TRACE(c.name());
        Trial setup(c, 107, 1);
        const Truth truth{setup, plain_inputs(setup), {}, 0};
        SlicePass pass(setup.layers, setup.options, 64);
        std::int64_t correct = 0;
        const double expected = truth.loss(in_double(setup.layers), &correct);
        const LossSum sum = pass.evaluate(setup.layers, setup.batch());
        EXPECT_NEAR(sum.loss / 107, expected, 1e-5);
        EXPECT_EQ(sum.score, correct);
      }
    }
  }
}

TEST(SlicePass, AddsUpToTheSameGradientsInOneSliceAndInThree) {
  for (const Kind kind : {Kind::floats, Kind::sparse}) {
    for (const bool dense : {false, true}) {
      // Dropout goes by the place in a panel, and dense panels are as wide as their slice.
      const double dropout = dense ? 0 : 0.3;
      const Case c{kind, dense, HiddenActivation::tanh, Loss::cross_entropy, 0.1, dropout, dropout};
      SCOPED_TRACE(c.name());
      Trial one(c, 100, 1), three(c, 100, 3);
      SlicePass whole(one.layers, one.options, dense ? 100 : kLanes);
      const LossSum sum = whole.train(one.layers, one.batch(), 100, 0, kKey, 0, nullptr);
      LossSum parts;
      const std::size_t ends[] = {0, 32, 64, 100};
      for (std::size_t s = 0; s < 3; ++s) {
        SlicePass pass(three.layers, three.options, dense ? 64 : kLanes);
        const Batch part{three.data, three.scaling,
                         std::span(three.rows).subspan(ends[s], ends[s + 1] - ends[s])};
        const LossSum slice = pass.train(three.layers, part, 100, s, kKey, ends[s], nullptr);
        parts.loss += slice.loss;
        parts.score += slice.score;
      }
      EXPECT_NEAR(parts.loss, sum.loss, 1e-4);
      EXPECT_EQ(parts.score, sum.score);
      for (std::size_t l = 0; l < one.layers.size(); ++l) {
        const auto compare = [](const std::vector<float>& single, const std::vector<float>& sliced) {
          double largest = 0;
          for (const float each : single) largest = std::max(largest, std::fabs(double{each}));
          for (std::size_t i = 0; i < single.size(); ++i)
            expect_near(double{sliced[i]} + sliced[single.size() + i] + sliced[2 * single.size() + i],
                        single[i], largest, fmt::format("{}", i));
        };
        compare(one.layers[l].gradient, three.layers[l].gradient);
        compare(one.layers[l].bias_gradient, three.layers[l].bias_gradient);
      }
    }
  }
}

TEST(SlicePass, RecordsWhatTheGradientsAreMadeOf) {
  for (const Kind kind : {Kind::floats, Kind::sparse}) {
    Trial setup({kind, false, HiddenActivation::relu, Loss::cross_entropy, 0, 0, 0.3}, 40, 1);
    SlicePass pass(setup.layers, setup.options, 40);
    Record record(setup.layers, 40);
    pass.train(setup.layers, setup.batch(), 40, 0, kKey, 0, &record);
    ASSERT_EQ(record.width, 64u);
    for (std::size_t b = 0; b < record.width; ++b)
      EXPECT_EQ(record.rows[b], b < 40 ? setup.rows[b] : -1) << b;
    for (std::size_t l = 0; l < setup.layers.size(); ++l) {
      const TrainLayer& layer = setup.layers[l];
      for (const Link& link : links(layer)) {
        const GradientAt truth = gradient_at(l, record, setup.data, link.output, link.input);
        EXPECT_NEAR(layer.gradient[link.entry], truth.sum, 64 * 1.2e-7 * truth.magnitude + 1e-12);
      }
      for (std::size_t o = 0; o < static_cast<std::size_t>(layer.outputs); ++o)
        for (std::size_t b = 40; b < 64; ++b) EXPECT_EQ(record.layers[l].delta[o * 64 + b], 0.0f);
    }
  }
}

TEST(SlicePass, AddsToTheGradientsThatAreThere) {
  Trial setup({}, 40, 1);
  SlicePass pass(setup.layers, setup.options, 40);
  pass.train(setup.layers, setup.batch(), 40, 0, kKey, 0, nullptr);
  const auto once = setup.layers[1].gradient;
  pass.train(setup.layers, setup.batch(), 40, 0, kKey, 0, nullptr);
  for (std::size_t e = 0; e < once.size(); ++e) EXPECT_NEAR(setup.layers[1].gradient[e], 2 * once[e], 1e-6);
}

}  // namespace
}  // namespace filigree::internal
