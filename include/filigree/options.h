// SPDX-License-Identifier: Apache-2.0
// The settings of data sets and of training: plain values, named as the command line and the TOML files name
// them. Standard library only; rooms below the API may include it, as they may vocabulary.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

// Where a data set comes from.
struct DataOptions {
  // mnist:DIR, fashion[:DIR], idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS], csv:FILE[,TEST_FILE],
  // libsvm:FILE[,TEST_FILE], digits[:TRAIN_ROWS], contexts[:TRAIN_ROWS]
  std::string source;
  std::string label_column = "1";  // csv: a number counted from 1, or a name of the header
  double test_share = 0.2;         // of the rows, drawn by `seed`, where the source has no test part
  std::uint64_t seed = 1;          // of that draw, and of drawn digits
  std::uint64_t memory_limit =
      0;  // bytes that a file may unpack to; 0: three quarters of the machine's memory
};

enum class Distribution { uniform, er, densities };
enum class Initial { he, glorot, ertl };
enum class Scaling { standard, unit, none };
enum class Evolve { none, set, rigl, ertl, prune, snfs, granet };
enum class PruneBy { magnitude, taylor, random };
enum class PruneSchedule { cubic, once };
enum class Structure { none, neurons, blocks, n_of_m };
enum class DropSchedule { cosine, linear, constant };
enum class Redistribute { layer, global };
enum class Optimizer { sgd, nesterov, adam, adamw, lion };
enum class Loss { cross_entropy, mse };  // softmax + cross-entropy, sigmoid + mean squared error
enum class HiddenActivation { relu, leaky_relu, all_relu, sigmoid, tanh, softplus };
enum class Schedule { constant, step, cosine };

struct TrainOptions {
  // The network.
  std::vector<Index> network = {};  // neurons per layer, inputs first: {784, 256, 256, 256, 10}
  bool dense = false;               // full weight matrices and GEMM, the baseline
  double sparsity = 0.9;            // share of weights that do not exist, over all matrices together
  Distribution distribution = Distribution::er;
  std::vector<double> densities = {};  // per weight matrix, for Distribution::densities
  Initial init = Initial::he;
  HiddenActivation activation = HiddenActivation::relu;
  double slope = 0.1;  // of leaky_relu below zero; all_relu alternates its sign from layer to layer
  Scaling scaling = Scaling::standard;  // of inputs: mean 0 and variance 1, largest magnitude 1, as they are
  std::vector<Index> exits =
      {};                     // hidden layers, counted from 1, behind which a head may end the computation
  double exit_weight = 0.3;   // of each head's loss
  double exit_density = 0.2;  // share of a head's weights that exist
  std::vector<Index> mixtures =
      {};                     // hidden layers that are mixtures of experts, each like the layer it stands for
  Index experts = 8;          // of each mixture
  Index active_experts = 2;   // of those, how many a row goes to
  double gate_density = 0.2;  // share of a gate's weights that exist
  double balance = 0.01;      // weight of the loss that spreads rows evenly over the experts

  // How the topology evolves.
  Evolve evolve = Evolve::rigl;
  // Steps between two updates. 0: 250 (pruning: 100), or fewer where that would give less than 10 (pruning:
  // 20).
  std::int64_t update_every = 0;
  double drop_fraction = 0.5;
  DropSchedule drop_schedule = DropSchedule::cosine;
  double stop_evolving = 0.75;      // share of all steps after which the topology stays
  std::int64_t growth_batches = 1;  // batches whose gradients are added up to choose what grows
  Redistribute redistribute = Redistribute::layer;
  double final_sparsity = -1;  // reached by evolution until stop_evolving, linearly, or as prune_schedule
                               // says; negative: stays
  bool free_lost = true;       // connections of neurons without inputs or readers, ertl: of those without any
                               // cost as well, are dropped and regrown
  PruneBy prune_by = PruneBy::magnitude;  // prune: the smallest |weight|, or |weight · gradient|
  PruneSchedule prune_schedule = PruneSchedule::cubic;  // prune: fast at first, or all before the first step
  Structure structure = Structure::none;                // prune: what goes as a whole
  Index group_size = 8;                                 // blocks: outputs and inputs of one; n_of_m: m
  Index group_kept = 2;                                 // n_of_m: n
  double shrink = 0;           // weight of the groups' norms (group lasso) in the loss, while pruning
  double time_weight = 0;      // weight of the predicted time, as a share of the first network's, in the same
  double connection_cost = 0;  // for that prediction: ns of a connection …
  double neuron_cost = 0;      // … of a neuron …
  double input_cost = 0;       // … and of an input of the network
  double threshold = 0.01;     // ertl: the first τ
  double threshold_share = 0.001;  // ertl: the share of weights that τ is steered to drop
  double threshold_factor = 1.05;  // ertl: by which τ is changed after each evolution

  // How it learns.
  Loss loss = Loss::cross_entropy;
  Optimizer optimizer = Optimizer::nesterov;
  double lr = 0.1;
  Schedule schedule = Schedule::cosine;
  double warmup_epochs = 1;
  std::int64_t step_epochs = 30;                      // Schedule::step: every so many epochs …
  double step_factor = 0.1;                           // … the rate is multiplied by this
  double momentum = 0.9;                              // nesterov
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw; the betas: lion, whose authors take 0.99
  double weight_decay = 0;
  double input_dropout = 0;
  double dropout = 0;  // hidden layers
  double label_smoothing = 0;
  double clip_norm = 1.0;  // of the gradient over all parameters; 0: none
  std::int64_t epochs = 20;
  Index batch = 128;
  Index slices = 0;  // parts of a batch that may run side by side; results depend on it. 0: by batch size
  double validation = 0;      // share of the training rows kept for validation
  std::int64_t patience = 0;  // epochs without a better validation accuracy before stopping; 0: never
  std::uint64_t seed = 1;

  // What is set in one word: ertl, best, fast. Applied before everything else.
  std::string preset = {};

  bool operator==(const TrainOptions&) const = default;
};

// A data set and how to train on it: what a TOML file holds.
struct TrainConfig {
  DataOptions data = {};
  TrainOptions options = {};
};

// One member of TrainOptions, for help texts and forms.
struct SettingInfo {
  std::string_view name;   // as for_each_setting says it
  std::string_view group;  // "network", "topology updates", "learning"
  std::string_view help;
  std::string possible;  // "from 0 to below 1", "he, glorot or ertl"
  std::string standard;  // its default, as text
  bool yes_or_no = false;
  std::string_view placeholder = {};  // for its value in help texts: "N", "X", "WORD"
};

// The words for each setting's values, in the order of its enumeration.
template <typename T>
struct Words;
template <>
struct Words<Distribution> {
  static constexpr std::array<std::string_view, 3> words = {"uniform", "er", "densities"};
};
template <>
struct Words<Initial> {
  static constexpr std::array<std::string_view, 3> words = {"he", "glorot", "ertl"};
};
template <>
struct Words<Scaling> {
  static constexpr std::array<std::string_view, 3> words = {"standard", "unit", "none"};
};
template <>
struct Words<Evolve> {
  static constexpr std::array<std::string_view, 7> words = {"none",  "set",  "rigl",  "ertl",
                                                            "prune", "snfs", "granet"};
};
template <>
struct Words<PruneBy> {
  static constexpr std::array<std::string_view, 3> words = {"magnitude", "taylor", "random"};
};
template <>
struct Words<PruneSchedule> {
  static constexpr std::array<std::string_view, 2> words = {"cubic", "once"};
};
template <>
struct Words<Structure> {
  static constexpr std::array<std::string_view, 4> words = {"none", "neurons", "blocks", "n-of-m"};
};
template <>
struct Words<DropSchedule> {
  static constexpr std::array<std::string_view, 3> words = {"cosine", "linear", "constant"};
};
template <>
struct Words<Redistribute> {
  static constexpr std::array<std::string_view, 2> words = {"layer", "global"};
};
template <>
struct Words<Optimizer> {
  static constexpr std::array<std::string_view, 5> words = {"sgd", "nesterov", "adam", "adamw", "lion"};
};
template <>
struct Words<Loss> {
  static constexpr std::array<std::string_view, 2> words = {"cross-entropy", "mse"};
};
template <>
struct Words<HiddenActivation> {
  static constexpr std::array<std::string_view, 6> words = {"relu",    "leaky-relu", "all-relu",
                                                            "sigmoid", "tanh",       "softplus"};
};
template <>
struct Words<Schedule> {
  static constexpr std::array<std::string_view, 3> words = {"constant", "step", "cosine"};
};

template <typename T>
constexpr std::string_view word(T value) {
  return Words<T>::words[static_cast<std::size_t>(value)];
}
template <typename T>
constexpr std::optional<T> from_word(std::string_view text) {
  for (std::size_t i = 0; i < Words<T>::words.size(); ++i)
    if (Words<T>::words[i] == text) return static_cast<T>(i);
  return std::nullopt;
}

// Calls visit(name, member) for every setting but `preset`: what the TOML reader, its writer and the check of
// a resumed run share. Options is TrainOptions or const TrainOptions.
template <typename Options, typename Visit>
void for_each_setting(Options& o, Visit&& visit) {
  visit("network", o.network);
  visit("dense", o.dense);
  visit("sparsity", o.sparsity);
  visit("distribution", o.distribution);
  visit("densities", o.densities);
  visit("init", o.init);
  visit("activation", o.activation);
  visit("slope", o.slope);
  visit("scaling", o.scaling);
  visit("exits", o.exits);
  visit("exit-weight", o.exit_weight);
  visit("exit-density", o.exit_density);
  visit("mixtures", o.mixtures);
  visit("experts", o.experts);
  visit("active-experts", o.active_experts);
  visit("gate-density", o.gate_density);
  visit("balance", o.balance);
  visit("evolve", o.evolve);
  visit("update-every", o.update_every);
  visit("drop-fraction", o.drop_fraction);
  visit("drop-schedule", o.drop_schedule);
  visit("stop-evolving", o.stop_evolving);
  visit("growth-batches", o.growth_batches);
  visit("redistribute", o.redistribute);
  visit("final-sparsity", o.final_sparsity);
  visit("prune-by", o.prune_by);
  visit("prune-schedule", o.prune_schedule);
  visit("structure", o.structure);
  visit("group-size", o.group_size);
  visit("group-kept", o.group_kept);
  visit("shrink", o.shrink);
  visit("time-weight", o.time_weight);
  visit("connection-cost", o.connection_cost);
  visit("neuron-cost", o.neuron_cost);
  visit("input-cost", o.input_cost);
  visit("free-lost", o.free_lost);
  visit("threshold", o.threshold);
  visit("threshold-share", o.threshold_share);
  visit("threshold-factor", o.threshold_factor);
  visit("loss", o.loss);
  visit("optimizer", o.optimizer);
  visit("lr", o.lr);
  visit("schedule", o.schedule);
  visit("warmup-epochs", o.warmup_epochs);
  visit("step-epochs", o.step_epochs);
  visit("step-factor", o.step_factor);
  visit("momentum", o.momentum);
  visit("beta1", o.beta1);
  visit("beta2", o.beta2);
  visit("epsilon", o.epsilon);
  visit("weight-decay", o.weight_decay);
  visit("input-dropout", o.input_dropout);
  visit("dropout", o.dropout);
  visit("label-smoothing", o.label_smoothing);
  visit("clip-norm", o.clip_norm);
  visit("epochs", o.epochs);
  visit("batch", o.batch);
  visit("slices", o.slices);
  visit("validation", o.validation);
  visit("patience", o.patience);
  visit("seed", o.seed);
}

}  // namespace filigree
#pragma GCC visibility pop
