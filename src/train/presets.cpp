// SPDX-License-Identifier: Apache-2.0
#include "filigree/train.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "base/error.h"

namespace filigree {

using namespace internal;

TrainOptions preset_options(const std::string& name) {
  TrainOptions o;
  o.preset = name;
  if (name == "best") {  // chosen on a validation split, see docs/measurements/accuracy.md
    o.run.epochs = 400;
    o.learning.lr = 0.2;
    o.learning.weight_decay = 7e-4;
    o.learning.input_dropout = 0.05;
    o.evolution.drop_fraction = 0.3;
    o.evolution.update_every = 100;
    return o;
  }
  if (name ==
      "fast") {         // a good network in seconds: chosen by the time to 88.3 and 89.3 % on validation rows
    o.run.epochs = 40;  // of Fashion-MNIST at 97 % sparsity
    o.learning.lr = 0.3;
    o.learning.weight_decay = 5e-4;
    return o;
  }
  if (name == "ertl") {  // Ertl, tables 1 and 2: plain gradient descent on sigmoid + squared error
    o.run.batch = 512;
    o.learning.optimizer = Optimizer::sgd;
    o.learning.lr = 1;  // his η = 1 / (2 · batch), of a sum of squares; ours is of a mean of halved ones
    o.learning.schedule =
        Schedule::step;  // a tenth for the last sixth: at his constant η the last epoch is a lottery
    o.learning.step_epochs = 500;
    o.learning.warmup_epochs = 20;  // without, some classes die in the first steps
    o.network.scaling = Scaling::unit;
    o.learning.input_dropout =
        0.05;  // 0.4 to 1.4 points on validation rows, most where there are many connections
    o.learning.loss = Loss::mse;
    o.learning.clip_norm = 0;
    o.network.distribution = Distribution::er;  // uniform leaves 26 connections to ten classes at 99 %
    o.network.init = Initial::ertl;
    o.evolution.rule = Evolve::ertl;
    o.evolution.update_every = 100;
    o.evolution.threshold = 0.01;
    o.evolution.threshold_share = 0.001;
    o.evolution.stop = 1;
    o.run.epochs = 600;  // he does not say; plain gradient descent still gains at 300
    return o;
  }
  if (name == kAutomaticPreset)
    throw std::invalid_argument("the preset 'auto' follows from data, and there is none here");
  throw std::invalid_argument(
      fmt::format("there is no preset '{}'; there are auto, best, ertl and fast", name));
}

// Chosen on 18 public tables of 152 to 22,000 training rows, and on 500 to 5,000 rows of images of 49 and 784
// pixels, where wide networks win at every size; see docs/measurements/tables.md.
TrainOptions preset_options(const std::string& name, const Data& data) {
  if (name != kAutomaticPreset) return preset_options(name);
  constexpr double kSmall = 1000;
  constexpr Index kManyFeatures = 40;
  const double rows = data.train_rows();
  TrainOptions o;
  o.preset = name;
  const Index width = data.features() >= kManyFeatures ? 256 : rows < kSmall ? 64 : 128;
  o.network.hidden = {width, width};
  // More steps for more rows, but fewer times over all of them.
  const double steps = std::clamp(40 * std::sqrt(rows), 200.0, 20000.0);
  o.run.batch = static_cast<Index>(std::clamp(std::exp2(std::round(std::log2(rows / 16))), 16.0, 128.0));
  o.run.epochs = std::max<std::int64_t>(3, std::llround(steps * o.run.batch / rows));
  // As if a few rows more said that weights are small.
  o.learning.weight_decay = std::clamp(3 / rows, 5e-4, 2e-2);
  return o;
}

}  // namespace filigree
