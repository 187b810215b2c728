// SPDX-License-Identifier: Apache-2.0
// Growth, stage by stage.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "base/error.h"
#include "data/data.h"
#include "filigree/compress.h"
#include "filigree/runtime.h"
#include "io/atomic_file.h"
#include "io/directory_lock.h"
#include "io/source.h"
#include "network/network.h"
#include "recipes/stage.h"
#include "train/grow.h"
#include "train/start.h"
#include "train/topology.h"
#include "train/training.h"

namespace filigree {

using namespace internal;

namespace {

const char* const kModel = "model.safetensors";
const char* const kConfig = "config.toml";
const char* const kGrowth = "growth.json";

Offset seed_connections(const TrainOptions& options) {
  Offset sum = 0;
  for (const Offset own : connections_per_layer(options)) sum += own;
  return sum;
}

double capacity_of(const Network& network) {
  double all = 0;
  for (Index l = 0; l < network.layers(); ++l)
    all += static_cast<double>(network.width(l)) * network.width(l + 1);
  return all;
}

Offset connections_of(const Network& network) {
  return connections_of(all_layers(network));
}

// What would fail only later, fails here.
void check_growth(const Data& data, const TrainOptions& options, const Growth& growth,
                  const RunDirectory& directory) {
  if (directory.path.empty()) throw std::invalid_argument("growth needs a directory");
  if (options.network.dense) throw std::invalid_argument("what is dense cannot grow");
  if (growth.stages < 1 || growth.deepen < 0 || growth.deepen > growth.stages || growth.prune < 0 ||
      growth.prune >= 1)
    throw std::invalid_argument(fmt::format("{} stages, {} of which deepen, and {} pruned in the end",
                                            growth.stages, growth.deepen, growth.prune));
  if (!options.network.exits.empty() || !options.network.mixtures.empty())
    throw std::invalid_argument("growth takes plain networks, without exits or mixtures");
  if (options.evolution.final_sparsity >= 0)
    throw std::invalid_argument("growth itself says how sparse the network ends");
  if (options.network.neurons.size() < 3) fail("a network without hidden layers cannot grow");
  if (const Offset seed = seed_connections(options); seed > growth.budget)
    fail("the first network has {} connections, more than the budget of {}", seed, growth.budget);
  if (growth.deepen > 0 && options.network.activation != HiddenActivation::relu)
    fail("a layer behind {} neurons would change what the network computes; behind relu it does not",
         word(options.network.activation));
  if (data.features() > kMaxPatternColumns)
    fail("{} features are too many for growth; {} are the most", data.features(), kMaxPatternColumns);
  const Training trainer(data.impl().dataset, options);
  const std::int64_t evolving = std::ceil(options.evolution.stop * trainer.total_steps());
  const std::int64_t every = trainer.state().options.evolution.update_every;
  if (evolving - 1 < every)
    fail(
        "nothing would grow: a stage has {} steps, of which {} % may, but evolution comes every {} steps "
        "(update-every)",
        trainer.total_steps(), 100 * options.evolution.stop, every);
}

// What stages have in common.
class Stages {
 public:
  Stages(const Data& data, const TrainOptions& options, const Growth& growth, const RunDirectory& directory,
         const TrainObserver& observer)
      : data_(data), options_(options), growth_(growth), directory_(directory), observer_(observer) {}

  TrainRun operator()() {
    run("stage-0", "the first network", {}, options_, 0);
    const double seed = seed_connections(options_);
    const double factor = std::pow(growth_.budget / seed, 1.0 / growth_.stages);
    for (int stage = 1; stage <= growth_.stages; ++stage) {
      const auto most = stage == growth_.stages
                            ? growth_.budget
                            : static_cast<Offset>(std::floor(seed * std::pow(factor, stage)));
      const bool deeper =
          stage <= growth_.deepen && connections_of(*last_) + last_->width(last_->layers() - 1) <= most;
      const auto start = [&] {
        // Neurons grow by the root: connections between two layers then grow by the whole.
        return grown(most, std::sqrt(factor) - 1, deeper, stage);
      };
      run(fmt::format("stage-{}", stage), deeper ? "split neurons, one more layer" : "split neurons", start,
          options_, most);
    }
    if (growth_.prune > 0) {
      TrainOptions pruning = options_;
      pruning.evolution.rule = Evolve::prune;
      pruning.evolution.redistribute = Redistribute::global;
      run(
          "stage-pruned", fmt::format("prune {:g} %", 100 * growth_.prune), [&] { return *last_; }, pruning,
          connections_of(*last_) * (1 - growth_.prune));
    }
    save(*last_, directory_.path / kModel);
    return std::move(*result_);
  }

 private:
  Network grown(Offset most, double growth, bool deeper, std::uint64_t stage) const {
    Random random = random_stream(options_.run.seed, Stream::growth, stage);
    std::vector<Layer> layers = copied_layers(*last_);
    const std::size_t last_hidden = layers.size() - 2;
    if (deeper) layers = deepened(std::move(layers), last_hidden);
    const Network network = with_layers(*last_, layers, "grown");
    const auto gradients = neuron_gradients(network, data_.impl().dataset, options_);
    return with_layers(network, with_more_neurons(std::move(layers), gradients, growth, most, random),
                       "grown");
  }

  // Trains what start() gives, without it a network by chance, while its connections become `connections`.
  void run(const std::string& name, const std::string& what, const std::function<Network()>& start,
           const TrainOptions& options, Offset connections) {
    const auto begin = [&](const RunDirectory& own) {
      if (!start) {
        if (growth_.begin) growth_.begin(what, options.network.neurons, seed_connections(options));
        return train(data_, options, own, observer_);
      }
      const Network network = start();
      TrainOptions shaped = options;
      take_shape(network, shaped);
      const double all = capacity_of(network);
      shaped.evolution.final_sparsity = 1 - std::min(static_cast<double>(connections), all) / all;
      if (growth_.begin) growth_.begin(what, shaped.network.neurons, connections_of(network));
      return train_from(network, data_, shaped, own, observer_);
    };
    result_ = begin_or_resume(data_, {directory_.path / name, directory_.resume}, begin, observer_);
    last_ = result_->network;
  }

  const Data& data_;
  const TrainOptions& options_;
  const Growth& growth_;
  const RunDirectory& directory_;
  const TrainObserver& observer_;
  std::optional<Network> last_;
  std::optional<TrainRun> result_;
};

}  // namespace

TrainOptions growing_defaults() {
  TrainOptions options;
  options.network.sparsity = 0.9;
  options.evolution.redistribute = Redistribute::global;
  options.run.epochs = 5;
  return options;
}

TrainRun grow(const Data& data, const TrainOptions& options, const Growth& growth,
              const RunDirectory& directory, const TrainObserver& observer) {
  check_growth(data, options, growth, directory);
  if (!directory.resume) make_directory(directory.path);
  const auto lock = lock_directory(directory.path);
  if (!directory.resume) require_no_run(directory.path);
  Growth noted = growth;
  noted.begin = [&](const std::string& stage, const std::vector<Index>& network, Offset connections) {
    if (!std::filesystem::exists(directory.path / kGrowth)) {
      write_file(directory.path / kConfig, to_toml({data.impl().options, options}));
      write_file(directory.path / kGrowth, nlohmann::json{{"budget", growth.budget},
                                                          {"stages", growth.stages},
                                                          {"deepen", growth.deepen},
                                                          {"prune", growth.prune}}
                                               .dump());
    }
    if (growth.begin) growth.begin(stage, network, connections);
  };
  return Stages(data, options, noted, directory, observer)();
}

GrowStart read_grow_start(const std::filesystem::path& directory) {
  const TrainConfig config = read_config(directory / kConfig);
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(directory / kGrowth));
    return {config.data,
            config.options,
            {json.at("budget"), json.at("stages"), json.at("deepen"), json.at("prune"), {}}};
  } catch (const nlohmann::json::exception& error) {
    fail("{}: does not say how growth was begun: {}", (directory / kGrowth).string(), error.what());
  }
}

}  // namespace filigree
