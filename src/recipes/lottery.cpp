// SPDX-License-Identifier: Apache-2.0
// Lottery tickets, round by round.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "compile/expand.h"
#include "data/data.h"
#include "filigree/compress.h"
#include "network/network.h"
#include "recipes/stage.h"
#include "train/lottery.h"
#include "train/start.h"
#include "train/training.h"

namespace filigree {

using namespace internal;

namespace {

bool all_full(const Network& network) {
  return std::ranges::all_of(all_layers(network),
                             [](const LayerPointer& layer) { return is_full(layer->weights.view()); });
}

void check_lottery(const Network& whole, const Data& data, const TrainOptions& options,
                   const Lottery& lottery, const RunDirectory& directory) {
  if (directory.path.empty()) throw std::invalid_argument("a lottery ticket needs a directory");
  if (lottery.rounds < 1) throw std::invalid_argument(fmt::format("{} rounds", lottery.rounds));
  if (lottery.rewind_epochs < 0 || lottery.rewind_epochs > options.run.epochs)
    throw std::invalid_argument(fmt::format("values of {} epochs cannot be set back to those after {}",
                                            options.run.epochs, lottery.rewind_epochs));
  if (options.run.patience > 0 && lottery.rewind_epochs > options.run.patience + 1)
    throw std::invalid_argument(fmt::format("a patience of {} epochs may end training before epoch {}",
                                            options.run.patience, lottery.rewind_epochs));
  TrainOptions shape = options;
  take_shape(whole, shape);
  if (options.evolution.final_sparsity <= shape.network.sparsity)
    fail("the network is {:.4g} % sparse already, and was to become {:.4g} %", 100 * shape.network.sparsity,
         100 * options.evolution.final_sparsity);
  draw_ticket(whole, whole, options);  // fails if the target would empty a layer
  shape.evolution.rule = Evolve::none;
  shape.evolution.final_sparsity = -1;
  [[maybe_unused]] const Training fits(data.impl().dataset, start_from(whole, data.impl().dataset, shape));
}

}  // namespace

TrainRun train_ticket(const Network& shape, const Data& data, const TrainOptions& options,
                      const Lottery& lottery, const RunDirectory& directory, const TrainObserver& observer) {
  require_plain(shape, "a lottery");
  const Network whole = expanded(shape);
  TrainOptions training = options;
  training.evolution.rule = Evolve::none;
  training.evolution.final_sparsity = -1;
  training.network.dense = false;
  check_lottery(whole, data, options, lottery, directory);
  TrainOptions shares = options;
  take_shape(whole, shares);
  const double first = 1 - shares.network.sparsity;
  std::optional<TrainRun> run;
  for (int round = 0; round <= lottery.rounds; ++round) {
    const double density = first * std::pow((1 - options.evolution.final_sparsity) / first,
                                            static_cast<double>(round) / lottery.rounds);
    if (lottery.begin) lottery.begin(round, 1 - density);
    const auto begin = [&](RunDirectory own) {
      TrainOptions settings = training;
      settings.network.dense = round == 0 && all_full(whole);
      if (round == 0) {
        own.early_epochs = lottery.rewind_epochs;
        return train_from(with_fresh_values(whole, options), data, settings, own, observer);
      }
      const Network early = load(directory.path / "round-0" / "early.safetensors");
      shares.evolution.final_sparsity = 1 - density;
      return train_from(draw_ticket(run->network, early, shares), data, settings, own, observer);
    };
    RunDirectory own{directory.path / fmt::format("round-{}", round), directory.resume};
    if (round == 0) own.early_epochs = lottery.rewind_epochs;
    run = begin_or_resume(data, own, begin, observer);
  }
  save(run->network, directory.path / "model.safetensors");
  return std::move(*run);
}

}  // namespace filigree
