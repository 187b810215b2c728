// Lottery tickets, round by round.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "api/data_impl.h"
#include "api/network_impl.h"
#include "filigree/compress.h"
#include "train/lottery.h"
#include "train/start.h"

namespace filigree {

namespace {

const char* const kModel = "model.safetensors";

// A share of what is left goes in each round, the same in all.
double density_after(int round, const Lottery& lottery, double first, double last) {
  return first * std::pow(last / first, static_cast<double>(round) / lottery.rounds);
}

bool all_full(const Model& model) {
  return std::ranges::all_of(model.layers, [](const Layer& layer) { return is_full(layer.weights.view()); });
}

}  // namespace

TrainRun train_ticket(const Network& shape, const Data& data, const TrainOptions& options,
                      const Lottery& lottery, const RunDirectory& directory, const TrainObserver& observer) {
  if (directory.path.empty()) throw std::invalid_argument("a lottery ticket needs a directory");
  if (lottery.rounds < 1) throw std::invalid_argument(fmt::format("{} rounds", lottery.rounds));
  if (lottery.rewind_epochs < 0 || lottery.rewind_epochs > options.epochs)
    throw std::invalid_argument(fmt::format("values of {} epochs cannot be set back to those after {}",
                                            options.epochs, lottery.rewind_epochs));
  const Model whole = to_model(shape);
  start_from(whole, data.impl().dataset, options);  // fails now if they do not fit, or cannot be trained
  draw_ticket(whole, whole, options);               // fails now if the target would empty a layer
  TrainOptions training = options;
  training.evolve = Evolve::none;
  training.final_sparsity = -1;
  training.dense = false;
  const auto path_of = [&](int round) { return directory.path / fmt::format("round-{}", round); };
  // The network a round begins with; `last` is the one that the round before ended with.
  const auto start_of = [&](int round, const Network* last) {
    if (round == 0) return with_fresh_values(whole, options);
    TrainOptions shares = options;
    take_shape(whole, shares);
    const double first = 1 - shares.sparsity;
    shares.final_sparsity = 1 - density_after(round, lottery, first, 1 - options.final_sparsity);
    return draw_ticket(to_model(*last), to_model(load(path_of(0) / "early.safetensors")), shares);
  };
  std::optional<TrainRun> result;
  std::optional<Network> last;
  for (int round = 0; round <= lottery.rounds; ++round) {
    const std::filesystem::path path = path_of(round);
    const bool finished = directory.resume && std::filesystem::exists(path / kModel);
    if (finished && round < lottery.rounds) {
      last = load(path / kModel);
      continue;
    }
    const bool begun = directory.resume && std::filesystem::exists(path / "checkpoint.safetensors");
    const Model start = start_of(round, last ? &*last : nullptr);
    TrainOptions own = training;
    own.dense = round == 0 && all_full(whole);
    if (lottery.begin) {
      TrainOptions shares = own;
      take_shape(start, shares);
      lottery.begin(round, shares.sparsity);
    }
    RunDirectory run{path, begun, directory.test_every_epoch};
    if (round == 0) run.early_epochs = lottery.rewind_epochs;
    if (begun) take_shape(start, own);
    const Network from = from_model(start, "a ticket");
    result = begun ? train(data, own, run, observer) : train_from(from, data, own, run, observer);
    last = result->network;
  }
  save(*last, directory.path / kModel);
  return std::move(*result);
}

}  // namespace filigree
