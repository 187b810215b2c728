// SPDX-License-Identifier: Apache-2.0
// Tests of training on a device, emulated by threads: step by step what the CPU does, within rounding.
#include "train/cuda_training.h"

#include <gtest/gtest.h>

#include <cmath>

#include "device/test_emulated.h"
#include "sparse/test_errors.h"
#include "train/test_training.h"
#include "train/training.h"

namespace filigree::internal {
namespace {

struct Case {
  const char* name;
  Kind kind = Kind::floats;
  void (*set)(TrainOptions&) = [](TrainOptions&) {};
};

const Case kCases[] = {
    {"rigl", Kind::bytes,
     [](TrainOptions& o) { o.learning.dropout = 0.2, o.learning.input_dropout = 0.1, o.run.slices = 2; }},
    {"rigl, three batches for growth", Kind::floats,
     [](TrainOptions& o) {
       o.evolution.growth_batches = 3, o.evolution.redistribute = Redistribute::global;
     }},
    {"ertl", Kind::floats,
     [](TrainOptions& o) { o.evolution.rule = Evolve::ertl, o.learning.optimizer = Optimizer::sgd; }},
    {"set, sparse rows, adam", Kind::sparse,
     [](TrainOptions& o) {
       o.evolution.rule = Evolve::set, o.learning.optimizer = Optimizer::adam, o.learning.lr = 0.01;
     }},
    {"rigl, sparse rows", Kind::sparse},
    {"dense, tanh, adamw", Kind::floats,
     [](TrainOptions& o) {
       o.network.dense = true, o.network.activation = HiddenActivation::tanh,
       o.learning.optimizer = Optimizer::adamw, o.learning.lr = 0.01;
       o.learning.dropout = 0.3;
     }},
    {"mse, leaky", Kind::floats,
     [](TrainOptions& o) {
       o.learning.loss = Loss::mse, o.network.activation = HiddenActivation::leaky_relu, o.network.slope = 0,
       o.learning.clip_norm = 0.05;
     }},
    {"softplus, lion, snfs", Kind::floats,
     [](TrainOptions& o) {
       o.network.activation = HiddenActivation::softplus, o.learning.optimizer = Optimizer::lion,
       o.learning.lr = 0.003, o.evolution.rule = Evolve::snfs;
     }},
    {"granet", Kind::floats,
     [](TrainOptions& o) { o.evolution.rule = Evolve::granet, o.evolution.final_sparsity = 0.7; }},
    {"pruned by taylor", Kind::floats,
     [](TrainOptions& o) {
       o.evolution.rule = Evolve::prune, o.pruning.by = PruneBy::taylor, o.evolution.final_sparsity = 0.7,
       o.evolution.stop = 1;
     }},
    {"pruned neurons", Kind::floats,
     [](TrainOptions& o) {
       o.evolution.rule = Evolve::prune, o.pruning.structure = Structure::neurons, o.pruning.shrink = 0.01,
       o.evolution.final_sparsity = 0.7;
       o.evolution.stop = 1;
     }},
};

TrainOptions options_for(const Case& c, const Dataset& data) {
  TrainOptions options;
  options.network.neurons = {data.train.features, 18, 13, data.classes};
  options.network.sparsity = 0.5;
  options.run.batch = 70;  // and a last one of 50
  options.run.epochs = 2;
  options.evolution.update_every = 2;
  options.learning.label_smoothing = 0.1;
  c.set(options);
  return options;
}

// The largest difference between two networks of the same connections, relative to the largest weight.
double distance(const std::vector<TrainLayer>& a, const std::vector<TrainLayer>& b) {
  double largest = 0, difference = 0;
  for (std::size_t l = 0; l < a.size(); ++l) {
    EXPECT_EQ(a[l].pattern, b[l].pattern) << "layer " << l;
    const auto compare = [&](const std::vector<float>& x, const std::vector<float>& y) {
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        largest = std::max(largest, std::fabs(double{x[i]}));
        difference = std::max(difference, std::fabs(double{x[i]} - double{y[i]}));
      }
    };
    compare(a[l].value, b[l].value);
    compare(a[l].transposed_value, b[l].transposed_value);
    compare(a[l].bias, b[l].bias);
    compare(a[l].first, b[l].first);
    compare(a[l].second, b[l].second);
  }
  return difference / largest;
}

// A sum of 70 products of numbers about as large as each other is off by 70 · 2⁻²⁴ of itself at most; eight
// steps add theirs up, and each step's weights differ by what the steps before left: 8 · 8 / 2 times that.
// Adam divides by the root of what it saw first, which for a gradient near zero is near zero itself.
constexpr double kTolerance = 32 * 70 * 0x1p-24;
constexpr double kAdamTolerance = 20 * kTolerance;

void check(const Case& c, const std::vector<int>& devices) {
  SCOPED_TRACE(c.name);
  Dataset data = random_data(c.kind, 120, 20, 4, 3);
  const TrainOptions options = options_for(c, data);
  Training cpu(data, options), device(data, options, {cuda_backend(), devices});
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    const std::vector<Index> rows = cpu.shuffled_rows(epoch).rows();
    for (const auto batch : {std::span(rows).first(70), std::span(rows).subspan(70)}) {
      const double before = cpu.state().epoch.train_loss;
      cpu.step(batch);
      device.step(batch);
      const double loss = cpu.state().epoch.train_loss - before;
      ASSERT_NEAR(device.state().epoch.train_loss, cpu.state().epoch.train_loss, 1e-4 * loss);
      ASSERT_EQ(device.state().epoch.dropped, cpu.state().epoch.dropped);
      ASSERT_EQ(device.state().epoch.grown, cpu.state().epoch.grown);
    }
  }
  device.check_finite();  // copies the layers to its state
  const bool adam =
      options.learning.optimizer == Optimizer::adam || options.learning.optimizer == Optimizer::adamw;
  EXPECT_LE(distance(cpu.state().layers, device.state().layers), adam ? kAdamTolerance : kTolerance);
  std::vector<Index> all(data.test.rows);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  const LossSum expected = cpu.evaluate(data.test, all), found = device.evaluate(data.test, all);
  EXPECT_NEAR(found.loss, expected.loss, 1e-4 * expected.loss);
  EXPECT_EQ(found.score, expected.score);
}

TEST(CudaTraining, DoesWhatTheCpuDoes) {
  for (const Case& c : kCases)
    if (full_tests() || &c == &kCases[0] || &c == &kCases[2]) check(c, {0});
}

TEST(CudaTraining, SharesBatchesOutToSeveralDevices) {
  const EmulatedMachine two("devices=2");
  for (const Case& c : kCases)
    if (full_tests() || &c == &kCases[1]) check(c, {0, 1});
}

TEST(CudaTraining, SaysWhatItCannotDo) {
  const Dataset data = random_data(Kind::floats, 50, 20, 4, 3);
  TrainOptions options = options_for(kCases[0], data);
  options.network.exits = {1};
  const DevicePlace place{cuda_backend(), {0}};
  EXPECT_NE(error_of([&] { Training(data, options, place); }).find("exits are trained on the CPU"),
            std::string::npos);
  const EmulatedMachine small("memory=30000");
  const std::string error = error_of([&] { Training(data, options_for(kCases[1], data), place); });
  EXPECT_NE(error.find("out of memory; the device has"), std::string::npos) << error;
}

}  // namespace
}  // namespace filigree::internal
