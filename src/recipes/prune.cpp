// SPDX-License-Identifier: Apache-2.0
// Pruning from the network given to the compact one, with the table of what that brought.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "data/data.h"
#include "filigree/compress.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"
#include "io/atomic_file.h"
#include "io/directory_lock.h"
#include "io/source.h"
#include "network/network.h"
#include "train/start.h"
#include "train/training.h"

namespace filigree {

using namespace internal;

namespace {

const char* const kOriginal = "original.safetensors";
const char* const kCompact = "compact.safetensors";
const char* const kModel = "model.safetensors";
const char* const kTimeModel = "time_model.json";
const char* const kConfig = "config.toml";
const char* const kLottery = "lottery.json";

// The model of a file if there is one and it holds here, else a new one.
TimeModel time_model_for(const std::filesystem::path& file, Index rows, const Data& data,
                         const PruneObserver& observer) {
  std::optional<TimeModel> model;
  if (!file.empty()) {
    model = read_time_model(file);
    rows = model->rows;
  }
  if (const Index most = std::max(data.test_rows(), data.train_rows()); most < rows)
    fail("the time of calls of {} rows cannot be checked with the {} that the data has", rows, most);
  const std::string fault = model ? why_not_here(*model) : "";
  if (model && fault.empty()) return *model;
  if (model && observer.remark)
    observer.remark(fmt::format("time model {}: {}; measured again", file.string(), fault));
  return measure_time_model(rows, observer.other);
}

void write_lottery(const Lottery& lottery, const std::filesystem::path& path) {
  write_file(path,
             nlohmann::json{{"rounds", lottery.rounds}, {"rewind_epochs", lottery.rewind_epochs}}.dump());
}

Lottery read_lottery(const std::filesystem::path& path) {
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(path));
    return {json.at("rounds"), json.at("rewind_epochs"), {}};
  } catch (const nlohmann::json::exception& error) {
    fail("{}: does not say how a lottery was begun: {}", path.string(), error.what());
  }
}

// Writes down how a lottery was begun once it has: nothing is left of one that cannot be.
Lottery noted(const PruneOptions& options, const Data& data, const RunDirectory& directory) {
  Lottery lottery = *options.lottery;
  lottery.begin = [&, begin = lottery.begin](int round, double sparsity) {
    if (!directory.resume && round == 0) {
      write_file(directory.path / kConfig, to_toml({data.impl().options, options.training}));
      write_lottery(*options.lottery, directory.path / kLottery);
    }
    if (begin) begin(round, sparsity);
  };
  return lottery;
}

}  // namespace

TrainOptions pruning_defaults() {
  TrainOptions options;
  options.evolution.rule = Evolve::prune;
  options.evolution.redistribute = Redistribute::global;
  options.evolution.stop = 0.5;
  options.learning.lr = 0.05;
  options.learning.warmup_epochs = 0;
  options.run.epochs = 20;
  return options;
}

void apply_method(PruneOptions& options, PruneMethod method) {
  PruningOptions& pruning = options.training.pruning;
  switch (method) {
    case PruneMethod::magnitude:
      pruning.by = PruneBy::magnitude;
      break;
    case PruneMethod::taylor:
      pruning.by = PruneBy::taylor;
      break;
    case PruneMethod::random:
      pruning.by = PruneBy::random;
      break;
    case PruneMethod::lottery:
      options.lottery = Lottery();
      break;
    case PruneMethod::neurons:
      pruning.structure = Structure::neurons;
      break;
    case PruneMethod::blocks:
      pruning.structure = Structure::blocks;
      break;
    case PruneMethod::n_of_m:
      pruning.structure = Structure::n_of_m;
      break;
    case PruneMethod::fssl:
      pruning.structure = Structure::neurons;
      pruning.shrink = 0.0005;
      pruning.time_weight = 1;
      break;
  }
}

PruneRun prune(const Network& network, const Data& data, const PruneOptions& options,
               const RunDirectory& directory, const PruneObserver& observer) {
  if (directory.path.empty()) throw std::invalid_argument("pruning needs a directory");
  const std::filesystem::path& path = directory.path;
  PruneOptions own = options;
  require_plain(network, "pruning");
  if (!directory.resume) require_no_run(path);
  if (!directory.resume && !options.lottery) {  // fails now if it cannot be
    TrainOptions checked = options.training;
    if (checked.pruning.time_weight > 0) checked.pruning.connection_cost = 1;  // to be measured
    [[maybe_unused]] const Training fits(data.impl().dataset,
                                         start_from(network, data.impl().dataset, checked));
  }
  make_directory(path);
  const auto lock = lock_directory(path);
  if (!directory.resume) {
    require_no_run(path);  // another process may have been quicker
    save(network, path / kOriginal);
  }
  std::optional<TimeModel> model;
  if (options.training.pruning.time_weight > 0) {
    model = time_model_for(directory.resume ? path / kTimeModel : options.time_model, options.rows, data,
                           observer);
    // A run that goes on keeps the costs it began with.
    if (!directory.resume) set_costs(own.training, *model);
    write_time_model(*model, path / kTimeModel);
  }
  if (own.lottery) {
    train_ticket(network, data, own.training, noted(own, data, directory), directory, observer.training);
  } else if (directory.resume) {
    train(data, own.training, directory, observer.training);
  } else {
    train_from(network, data, own.training, directory, observer.training);
  }
  const Footprint before = footprint(network, data, 0.1, observer.other);
  const Network compact = compile_network(load(path / kModel), observer.other).network;
  save(compact, path / kCompact);
  PruneRun run{compact,
               before,
               footprint(compact, data, 0.1, observer.other),
               std::filesystem::file_size(path / kOriginal),
               std::filesystem::file_size(path / kCompact),
               model};
  if (model) run.time_check = check_time(*model, compact, data, observer.other);
  return run;
}

PruneStart read_prune_start(const std::filesystem::path& directory) {
  const TrainConfig config = read_config(directory / kConfig);
  Network network = load(directory / kOriginal);
  PruneStart start{config.data, {.training = config.options}, std::move(network)};
  if (std::filesystem::exists(directory / kLottery))
    start.options.lottery = read_lottery(directory / kLottery);
  return start;
}

}  // namespace filigree
