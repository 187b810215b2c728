// SPDX-License-Identifier: Apache-2.0
// Compression: what a network costs, before and after, and how long it will take. Any number of threads may
// call these functions at the same time, on directories of their own; what is measured then suffers.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "filigree/evaluate.h"
#include "filigree/train.h"

#pragma GCC visibility push(default)
namespace filigree {

// What a network costs to run here, made ready as compile() does.
struct Footprint {
  Offset parameters = 0;            // connections and biases, as they are kept
  std::vector<Index> neurons = {};  // per layer, inputs first, after the exact passes
  std::uint64_t memory_bytes = 0;   // of the plan, its copy for single rows, and the panels of all threads
  double accuracy = 0;              // on the test rows; NaN if there are none
  struct Timing {
    Index batch = 0;
    double seconds = 0, fastest = 0, slowest = 0;  // of a call: the median, and the spread
  };
  std::vector<Timing> timings = {};  // of 1, 32 and 512 rows
};

// Batches are made of test rows, or of training rows if those are more and the others fewer than 512; each
// size runs for about `seconds`.
[[nodiscard]] Footprint footprint(const Network& network, const Data& data, double seconds = 0.1,
                                  const Observer& observer = {});

// The lottery ticket (Frankle and Carbin): a network is trained from values drawn by chance; its smallest
// weights go; the others are set back to what they were early in training; the rest is trained again. In
// rounds, each of which drops the same share, until
// options.evolution.final_sparsity.
struct Lottery {
  int rounds = 3;
  std::int64_t rewind_epochs = 1;  // values are set back to those after so many; 0: the first
  std::function<void(int round, double sparsity)> begin =
      {};  // of each round; round 0 trains the whole network
};
// Shape and connections are those of `shape`. The directory, which must be given, holds a run for each round
// (round-0, round-1, …) and the last one's model.safetensors; with directory.resume finished rounds stay.
TrainRun train_ticket(const Network& shape, const Data& data, const TrainOptions& options,
                      const Lottery& lottery, const RunDirectory& directory,
                      const TrainObserver& observer = {});

// What the parts of a network's run cost on a machine, found by running networks of all kinds. The time of a
// run is the sum over its parts.
struct TimeModel {
  std::string processor, simd;  // where it was measured
  int threads = 0;
  Index rows = 0;  // of a call
  struct Part {
    std::string name;    // "call", "column", …; docs/measurements/compression.md explains them
    double seconds = 0;  // of one
  };
  std::vector<Part> parts = {};
  double error = 0, worst_error = 0;  // relative, on the networks that were measured: the median, the worst
  double yardstick_seconds = 0;       // of a network that is always the same: the speed of the machine then
};
// For calls of 32 to 65,536 rows; fewer are not taken in panels.
[[nodiscard]] TimeModel measure_time_model(Index rows = 512, const Observer& observer = {});

// JSON. Throws Error if the file is no time model.
[[nodiscard]] TimeModel read_time_model(const std::filesystem::path& path);
void write_time_model(const TimeModel& model, const std::filesystem::path& path);

// Empty if the model holds here, else what is different: "it was measured with 4 threads, now there are 2".
[[nodiscard]] std::string why_not_here(const TimeModel& model);

// connection_cost, neuron_cost and input_cost as the model has them, for networks that lose whole neurons or
// blocks.
void set_costs(TrainOptions& options, const TimeModel& model);

// What the model predicts for a network, and what was measured.
struct TimeCheck {
  double predicted = 0;  // seconds, like the others
  double measured = 0;   // the median
  double adjusted = 0;   // the same at the speed that the machine had for the model, by the yardstick
  double error() const { return adjusted / predicted - 1; }
};
[[nodiscard]] TimeCheck check_time(const TimeModel& model, const Network& network, const Data& data,
                                   const Observer& observer = {});

// Growth from a small sparse network (NeST, Net2Net): in stages, each of which splits the neurons with the
// largest gradients in two and trains while connections grow where their gradients are the largest; in the
// end the smallest weights go. What is computed does not change at the moment of growth. Options say what the
// first network is (network, sparsity), and how each stage trains.
struct Growth {
  Offset budget = 0;  // connections, never exceeded; a row takes twice as many floating-point operations
  int stages = 4;     // of growth, after the first network was trained
  int deepen = 0;     // stages, from the first on, that put a layer behind the last hidden one, too
  double prune = 0;   // share of the weights that go after the last stage; 0: none
  std::function<void(const std::string& stage, const std::vector<Index>& network, Offset connections)> begin =
      {};
};
// What is set for growth before anything else is.
[[nodiscard]] TrainOptions growing_defaults();
// The directory, which must be given, holds a run for each stage (stage-0, …) and the last one's
// model.safetensors; with directory.resume finished stages stay, and options are those it was begun with.
TrainRun grow(const Data& data, const TrainOptions& options, const Growth& growth,
              const RunDirectory& directory, const TrainObserver& observer = {});
struct GrowStart {
  DataOptions data = {};
  TrainOptions options = {};
  Growth growth = {};
};
[[nodiscard]] GrowStart read_grow_start(const std::filesystem::path& directory);

// A network made smaller, with what that cost and gained.
struct PruneOptions {
  TrainOptions training =
      {};  // evolution.rule is prune; with pruning.time_weight, a time model sets the costs
  std::optional<Lottery> lottery = {};  // instead of pruning while training goes on
  std::filesystem::path time_model =
      {};            // of which file; measured if there is none, or it does not hold here
  Index rows = 512;  // of a call that is to be fast, if it is measured
};
enum class PruneMethod {
  magnitude,  // these prune single weights: the smallest,
  taylor,     // those with the least effect on the loss,
  random,
  lottery,  // the smallest, before training again from where it began
  neurons,  // these prune groups of weights
  blocks,
  n_of_m,
  fssl,  // neurons, by a loss of error, norms and predicted time
};
template <>
struct Words<PruneMethod> {
  static constexpr std::array<std::string_view, 8> kWords = {"magnitude", "taylor", "random", "lottery",
                                                             "neurons",   "blocks", "n-of-m", "fssl"};
};
// What is set for pruning before anything else is: half of the run prunes, the rest mends.
[[nodiscard]] TrainOptions pruning_defaults();
void apply_method(PruneOptions& options, PruneMethod method);

struct PruneRun {
  Network compact;                                  // after the exact passes
  Footprint before, after;                          // of the network given, and of this one
  std::uint64_t bytes_before = 0, bytes_after = 0;  // of the files
  std::optional<TimeModel> time_model = {};
  std::optional<TimeCheck> time_check = {};
};
struct PruneObserver {
  TrainObserver training = {};
  Observer other = {};                                  // time model and footprints
  std::function<void(const std::string&)> remark = {};  // what happened that was not asked for
};
// The directory, which must be given, gets the files of a training run, original.safetensors,
// compact.safetensors and, for a time_weight, time_model.json. Throws Cancelled after a stop, with the
// checkpoint written. With directory.resume the network and all options must be those that the run was begun
// with: see read_prune_start.
PruneRun prune(const Network& network, const Data& data, const PruneOptions& options,
               const RunDirectory& directory, const PruneObserver& observer = {});
struct PruneStart {
  DataOptions data = {};
  PruneOptions options = {};
  Network network;
};
[[nodiscard]] PruneStart read_prune_start(const std::filesystem::path& directory);

}  // namespace filigree
#pragma GCC visibility pop
