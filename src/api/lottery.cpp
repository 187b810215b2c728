// SPDX-License-Identifier: Apache-2.0
// Lottery tickets, round by round.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "api/data_impl.h"
#include "api/network_impl.h"
#include "api/stage.h"
#include "base/error.h"
#include "compile/expand.h"
#include "filigree/compress.h"
#include "train/lottery.h"
#include "train/start.h"
#include "train/trainer.h"

namespace filigree {

namespace {

bool all_full(const Model& model) {
  return std::ranges::all_of(model.layers, [](const Layer& layer) { return is_full(layer.weights.view()); });
}

void check_lottery(const Model& whole, const Data& data, const TrainOptions& options, const Lottery& lottery,
                   const RunDirectory& directory) {
  if (directory.path.empty()) throw std::invalid_argument("a lottery ticket needs a directory");
  if (lottery.rounds < 1) throw std::invalid_argument(fmt::format("{} rounds", lottery.rounds));
  if (lottery.rewind_epochs < 0 || lottery.rewind_epochs > options.epochs)
    throw std::invalid_argument(fmt::format("values of {} epochs cannot be set back to those after {}",
                                            options.epochs, lottery.rewind_epochs));
  if (options.patience > 0 && lottery.rewind_epochs > options.patience + 1)
    throw std::invalid_argument(fmt::format("a patience of {} epochs may end training before epoch {}",
                                            options.patience, lottery.rewind_epochs));
  TrainOptions shape = options;
  take_shape(whole, shape);
  if (options.final_sparsity <= shape.sparsity)
    fail("the network is {:.4g} % sparse already, and was to become {:.4g} %", 100 * shape.sparsity,
         100 * options.final_sparsity);
  draw_ticket(whole, whole, options);  // fails if the target would empty a layer
  shape.evolve = Evolve::none;
  shape.final_sparsity = -1;
  [[maybe_unused]] const Trainer fits(data.impl().dataset, start_from(whole, data.impl().dataset, shape));
}

}  // namespace

TrainRun train_ticket(const Network& shape, const Data& data, const TrainOptions& options,
                      const Lottery& lottery, const RunDirectory& directory, const TrainObserver& observer) {
  require_plain(shape, "a lottery");
  const Model whole = expanded(to_model(shape));
  TrainOptions training = options;
  training.evolve = Evolve::none;
  training.final_sparsity = -1;
  training.dense = false;
  check_lottery(whole, data, options, lottery, directory);
  TrainOptions shares = options;
  take_shape(whole, shares);
  const double first = 1 - shares.sparsity;
  std::optional<TrainRun> run;
  for (int round = 0; round <= lottery.rounds; ++round) {
    const double density =
        first * std::pow((1 - options.final_sparsity) / first, static_cast<double>(round) / lottery.rounds);
    if (lottery.begin) lottery.begin(round, 1 - density);
    const auto begin = [&](RunDirectory own) {
      TrainOptions settings = training;
      settings.dense = round == 0 && all_full(whole);
      if (round == 0) {
        own.early_epochs = lottery.rewind_epochs;
        return train_from(from_model(with_fresh_values(whole, options), "fresh"), data, settings, own,
                          observer);
      }
      const Model early = to_model(load(directory.path / "round-0" / "early.safetensors"));
      shares.final_sparsity = 1 - density;
      const Model ticket = draw_ticket(to_model(run->network), early, shares);
      return train_from(from_model(ticket, "a ticket"), data, settings, own, observer);
    };
    RunDirectory own{directory.path / fmt::format("round-{}", round), directory.resume};
    if (round == 0) own.early_epochs = lottery.rewind_epochs;
    run = begin_or_resume(data, own, begin, observer);
  }
  save(run->network, directory.path / "model.safetensors");
  return std::move(*run);
}

}  // namespace filigree
