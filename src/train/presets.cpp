// SPDX-License-Identifier: Apache-2.0
#include "filigree/train.h"

#include <stdexcept>

#include "base/error.h"

namespace filigree {

TrainOptions preset_options(const std::string& name) {
  TrainOptions o;
  o.preset = name;
  if (name == "best") {  // chosen on a validation split, see docs/measurements/accuracy.md
    o.epochs = 400;
    o.lr = 0.2;
    o.weight_decay = 7e-4;
    o.input_dropout = 0.05;
    o.drop_fraction = 0.3;
    o.update_every = 100;
    return o;
  }
  if (name == "fast") {  // a good network in a minute
    o.epochs = 20;
    o.weight_decay = 3e-4;
    return o;
  }
  if (name == "ertl") {  // Ertl, tables 1 and 2: plain gradient descent on sigmoid + squared error
    o.batch = 512;
    o.optimizer = Optimizer::sgd;
    o.lr = 1;  // his η = 1 / (2 · batch), of a sum of squares; ours is of a mean of halved ones
    o.schedule = Schedule::step;  // a tenth for the last sixth: at his constant η the last epoch is a lottery
    o.step_epochs = 500;
    o.warmup_epochs = 20;  // without, some classes die in the first steps
    o.scaling = Scaling::unit;
    o.input_dropout = 0.05;  // 0.4 to 1.4 points on validation rows, most where there are many connections
    o.loss = Loss::mse;
    o.clip_norm = 0;
    o.distribution = Distribution::er;  // uniform leaves 26 connections to ten classes at 99 %
    o.init = Initial::ertl;
    o.evolve = Evolve::ertl;
    o.update_every = 100;
    o.threshold = 0.01;
    o.threshold_share = 0.001;
    o.stop_evolving = 1;
    o.epochs = 600;  // he does not say; plain gradient descent still gains at 300
    return o;
  }
  throw std::invalid_argument(fmt::format("there is no preset '{}'; there are ertl, best and fast", name));
}

}  // namespace filigree
