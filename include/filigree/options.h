// SPDX-License-Identifier: Apache-2.0
// The settings of data sets and of training: plain values, named as the command line and the TOML files name
// them. Standard library only; modules below the API may include it, as they may vocabulary.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "filigree/loss.h"
#include "filigree/optimizer.h"
#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

enum class Header { automatic, yes, no };  // whether the first line of a table names its columns
// What takes the place of numbers that are missing; refuse: nothing, they are an error.
enum class Missing { mean, median, constant, refuse };

// How a CSV file is read. Lists of columns are names of the header or numbers from 1, between commas; \, is a
// comma in a name, * and ? stand for any letters.
struct TableOptions {
  char separator = 0;  // 0: the tab, semicolon, bar or comma that the first lines have
  Header header = Header::automatic;
  bool decimal_comma = false;      // 1,5 is one and a half
  std::string text_columns = {};   // to be taken as text, though they hold numbers
  std::string drop_columns = {};   // to be left out
  std::string weight_column = {};  // how much each row counts in training
  Missing missing = Missing::mean;
  double missing_value = 0;   // of Missing::constant
  bool mark_missing = false;  // one more input for each column with gaps: 1 where the number is missing
  Index rare = 0;             // texts of fewer rows are taken together; 0: by the number of rows
};

// Where a data set comes from.
struct DataOptions {
  // mnist:DIR, fashion[:DIR], idx:IMAGES,LABELS[,TEST_IMAGES,TEST_LABELS], csv:FILE[,TEST_FILE],
  // libsvm:FILE[,TEST_FILE], digits[:TRAIN_ROWS], contexts[:TRAIN_ROWS]
  std::string source = {};
  // csv: what there is to learn, a list as in TableOptions; empty: the first column, or for a network the one
  // it was trained to tell.
  std::string label_column = {};
  std::optional<Task> task = {};  // csv, libsvm; else it follows from what there is to learn
  TableOptions table = {};
  double test_share = 0.2;  // of the rows, drawn by `seed`, where the source has no test part
  std::uint64_t seed = 1;   // of that draw, and of drawn digits
  // Bytes of memory; 0: three quarters of the machine's. Rows of tables (csv, libsvm) that take more than a
  // quarter of it are kept in a file without a name in TMPDIR or /var/tmp; other files may not unpack to
  // more.
  std::uint64_t memory_limit = 0;
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
enum class HiddenActivation { relu, leaky_relu, all_relu, sigmoid, tanh, softplus };
enum class Schedule { constant, step, cosine };
// What early stopping watches. automatic: accuracy of classes, the loss of labels, R² of values. The others
// are metrics of evaluate() by their names.
enum class Watch {
  automatic,
  loss,
  accuracy,
  balanced_accuracy,
  f1_macro,
  f1_weighted,
  log_loss,
  roc_auc,
  average_precision,
  r2,
  rmse,
  mae
};
enum class Part { train, test, all };  // of a data set; all: both, training rows first
enum class Device { cpu, cuda, automatic };
enum class Engine { plain, compiled };
// What computes a layer on a CUDA device. All but the first are baselines, which run plain networks.
enum class DeviceKernel {
  fused,        // our kernel: product, bias, activation and liveness in one pass
  tiled,        // Gokhale et al.: full matrices in tiles through shared memory
  spmm,         // cuSPARSE: sparse times dense, then a pass of its own for the rest
  spgemm,       // cuSPARSE: sparse times sparse; buffers are allocated for each layer
  spgemm_kept,  // the same, with buffers that are kept from layer to layer
};
enum class Check { automatic, full, none };  // a sample of the rows, all of them, none

struct NetworkOptions {
  std::vector<Index> neurons = {};  // per layer, inputs first: {784, 256, 256, 256, 10}; empty: by `hidden`
  // Neurons per hidden layer, where inputs and outputs follow from the data; empty: three layers of 256. (It
  // is not {256, 256, 256}: GCC 12 frees such a default twice where another member's value throws.)
  std::vector<Index> hidden = {};
  bool dense = false;     // full weight matrices and GEMM, the baseline
  double sparsity = 0.9;  // share of weights that do not exist, over all matrices together
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
  bool operator==(const NetworkOptions&) const = default;
};

// How topology updates change which connections exist.
struct EvolutionOptions {
  Evolve rule = Evolve::rigl;
  // Steps between two updates. 0: as many as the rule likes, or fewer where updates would be too few.
  std::int64_t update_every = 0;
  double drop_fraction = 0.5;
  DropSchedule drop_schedule = DropSchedule::cosine;
  double stop = 0.75;               // share of all steps after which the topology stays
  std::int64_t growth_batches = 1;  // batches whose gradients are added up to choose what grows
  Redistribute redistribute = Redistribute::layer;
  double final_sparsity = -1;  // reached until `stop`, linearly, or as the rule says; negative: stays
  bool free_lost = true;       // connections of neurons without inputs or consumers, ertl: of those without
                               // any cost as well, are dropped and regrown
  double threshold = 0.01;     // ertl: the first τ
  double threshold_share = 0.001;  // ertl: the share of weights that τ is steered to drop
  double threshold_factor = 1.05;  // ertl: by which τ is changed after each update
  bool operator==(const EvolutionOptions&) const = default;
};

// How Evolve::prune prunes.
struct PruningOptions {
  PruneBy by = PruneBy::magnitude;                // the smallest |weight|, or |weight · gradient|
  PruneSchedule schedule = PruneSchedule::cubic;  // fast at first, or all before the first step
  Structure structure = Structure::none;          // what goes as a whole
  Index group_size = 8;                           // blocks: outputs and inputs of one; n_of_m: m
  Index group_kept = 2;                           // n_of_m: n
  double shrink = 0;                              // weight of the groups' norms (group lasso) in the loss
  double time_weight = 0;      // weight of the predicted time, as a share of the first network's, in the same
  double connection_cost = 0;  // for that prediction: ns of a connection …
  double neuron_cost = 0;      // … of a neuron …
  double input_cost = 0;       // … and of an input of the network
  bool operator==(const PruningOptions&) const = default;
};

struct LearningOptions {
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
  std::vector<double> class_weights = {};  // how much a row of each class counts; empty: all the same
  bool balanced = false;                   // as much as makes all classes count the same together
  double clip_norm = 1.0;                  // of the gradient over all parameters; 0: none
  bool operator==(const LearningOptions&) const = default;
};

struct LoopOptions {
  std::int64_t epochs = 20;
  Index batch = 128;
  Index slices = 0;  // parts of a batch that may run side by side; results depend on it. 0: by batch size
  double validation = 0;            // share of the training rows kept for validation
  std::int64_t patience = 0;        // epochs without a better validation metric before stopping; 0: never
  Watch metric = Watch::automatic;  // that metric
  std::uint64_t seed = 1;
  bool operator==(const LoopOptions&) const = default;
};

// How a network is trained. The command line and TOML files have the same settings without the groups.
struct TrainOptions {
  NetworkOptions network = {};
  EvolutionOptions evolution = {};
  PruningOptions pruning = {};
  LearningOptions learning = {};
  LoopOptions run = {};
  // The preset that these options began from, for config.toml. To begin from one, use preset_options(name):
  // setting this changes nothing.
  std::string preset = {};

  bool operator==(const TrainOptions&) const = default;
};

// A data set and how to train on it: what a TOML file holds.
struct TrainConfig {
  DataOptions data = {};
  TrainOptions options = {};
};

// One setting of TrainOptions, for help texts and forms.
struct SettingInfo {
  std::string_view name;   // "lr", "final-sparsity"
  std::string_view group;  // "network", "topology updates", "learning"
  std::string_view help;
  std::string possible;  // "from 0 to below 1", "he, glorot or ertl"
  std::string standard;  // its default, as text
  bool yes_or_no = false;
  std::string_view placeholder = {};  // for its value in help texts: "N", "X", "WORD"
};

template <>
struct Words<Distribution> {
  static constexpr std::array<std::string_view, 3> kWords = {"uniform", "er", "densities"};
};
template <>
struct Words<Initial> {
  static constexpr std::array<std::string_view, 3> kWords = {"he", "glorot", "ertl"};
};
template <>
struct Words<Scaling> {
  static constexpr std::array<std::string_view, 3> kWords = {"standard", "unit", "none"};
};
template <>
struct Words<Evolve> {
  static constexpr std::array<std::string_view, 7> kWords = {"none",  "set",  "rigl",  "ertl",
                                                             "prune", "snfs", "granet"};
};
template <>
struct Words<PruneBy> {
  static constexpr std::array<std::string_view, 3> kWords = {"magnitude", "taylor", "random"};
};
template <>
struct Words<PruneSchedule> {
  static constexpr std::array<std::string_view, 2> kWords = {"cubic", "once"};
};
template <>
struct Words<Structure> {
  static constexpr std::array<std::string_view, 4> kWords = {"none", "neurons", "blocks", "n-of-m"};
};
template <>
struct Words<DropSchedule> {
  static constexpr std::array<std::string_view, 3> kWords = {"cosine", "linear", "constant"};
};
template <>
struct Words<Redistribute> {
  static constexpr std::array<std::string_view, 2> kWords = {"layer", "global"};
};
template <>
struct Words<HiddenActivation> {
  static constexpr std::array<std::string_view, 6> kWords = {"relu",    "leaky-relu", "all-relu",
                                                             "sigmoid", "tanh",       "softplus"};
};
template <>
struct Words<Schedule> {
  static constexpr std::array<std::string_view, 3> kWords = {"constant", "step", "cosine"};
};

template <>
struct Words<Watch> {
  static constexpr std::array<std::string_view, 12> kWords = {
      "auto",        "loss",     "accuracy", "balanced_accuracy", "f1_macro",
      "f1_weighted", "log_loss", "roc_auc",  "average_precision", "r2",
      "rmse",        "mae"};
};
template <>
struct Words<Header> {
  static constexpr std::array<std::string_view, 3> kWords = {"auto", "yes", "no"};
};
template <>
struct Words<Missing> {
  static constexpr std::array<std::string_view, 4> kWords = {"mean", "median", "constant", "refuse"};
};
template <>
struct Words<Part> {
  static constexpr std::array<std::string_view, 3> kWords = {"train", "test", "all"};
};
template <>
struct Words<Device> {
  static constexpr std::array<std::string_view, 3> kWords = {"cpu", "cuda", "auto"};
};
template <>
struct Words<Engine> {
  static constexpr std::array<std::string_view, 2> kWords = {"plain", "compiled"};
};
template <>
struct Words<DeviceKernel> {
  static constexpr std::array<std::string_view, 5> kWords = {"fused", "tiled", "spmm", "spgemm",
                                                             "spgemm-kept"};
};
template <>
struct Words<Check> {
  static constexpr std::array<std::string_view, 3> kWords = {"auto", "full", "none"};
};

}  // namespace filigree
#pragma GCC visibility pop
