// SPDX-License-Identifier: Apache-2.0
#include "train/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <stdexcept>
namespace filigree::internal {

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

// How a row finds its member.
#define FILIGREE_MEMBER(member) [](TrainOptions& o) -> SettingMember { return &member; }
#define FILIGREE_WORD(member) [](TrainOptions& o) -> SettingMember { return WordMember(member); }

constexpr Setting kSettings[] = {
    {"network", "network", FILIGREE_MEMBER(o.network.neurons),
     "number of neurons of each layer, inputs first", 1, 1 << 24},
    {"hidden", "network", FILIGREE_MEMBER(o.network.hidden),
     "number of neurons of each hidden layer, instead of --network: inputs and outputs follow from the data",
     1, 1 << 24},
    {"dense", "network", FILIGREE_MEMBER(o.network.dense), "train full weight matrices, as a baseline"},
    {"sparsity", "network", FILIGREE_MEMBER(o.network.sparsity), "share of the weights that do not exist", 0,
     1, Setting::Ends::high_open},
    {"distribution", "network", FILIGREE_WORD(o.network.distribution),
     "how connections are spread over the layers: uniform gives every layer the same density, er "
     "(Erdős–Rényi) gives small layers a higher one, densities takes --densities"},
    {"densities", "network", FILIGREE_MEMBER(o.network.densities),
     "share of the weights that exist in each layer, with --distribution densities", 0, 1,
     Setting::Ends::low_open},
    {"init", "network", FILIGREE_WORD(o.network.init), "distribution of the initial weights"},
    {"activation", "network", FILIGREE_WORD(o.network.activation),
     "activation function of the hidden neurons; all-relu is leaky-relu whose slope changes sign from "
     "layer to layer"},
    {"slope", "network", FILIGREE_MEMBER(o.network.slope), "slope below zero of leaky-relu and all-relu", 0,
     1},
    {"scaling", "network", FILIGREE_WORD(o.network.scaling),
     "scaling of the inputs: standard to mean 0 and deviation 1, unit to a largest magnitude of 1"},
    {"exits", "network", FILIGREE_MEMBER(o.network.exits),
     "hidden layers, counted from 1, that are followed by an early exit", 1, 1 << 24},
    {"exit-weight", "network", FILIGREE_MEMBER(o.network.exit_weight),
     "weight of the loss of each early exit", 0, 1000},
    {"exit-density", "network", FILIGREE_MEMBER(o.network.exit_density),
     "share of the weights of an early exit that exist", 0, 1, Setting::Ends::low_open},
    {"mixtures", "network", FILIGREE_MEMBER(o.network.mixtures),
     "hidden layers, counted from 1, that are mixtures of experts", 1, 1 << 24},
    {"experts", "network", FILIGREE_MEMBER(o.network.experts), "number of experts of each mixture", 2, 1024},
    {"active-experts", "network", FILIGREE_MEMBER(o.network.active_experts),
     "number of experts that compute each row", 1, 1024},
    {"gate-density", "network", FILIGREE_MEMBER(o.network.gate_density),
     "share of the weights of a gate, which chooses the experts of a row, that exist", 0, 1,
     Setting::Ends::low_open},
    {"balance", "network", FILIGREE_MEMBER(o.network.balance),
     "weight of the loss that spreads rows evenly over the experts", 0, 1000},
    {"evolve", "topology updates", FILIGREE_WORD(o.evolution.rule),
     "rule of topology updates (dynamic sparse training): rigl grows where the gradient is largest, set at "
     "random, ertl drops by"
     " an adaptive threshold, snfs gives layers with large momentum more, granet prunes from "
     "--sparsity to --final-sparsity and regrows, prune only drops, none keeps the first topology"},
    {"update-every", "topology updates", FILIGREE_MEMBER(o.evolution.update_every),
     "number of steps between two topology updates; 0 chooses by the number of steps", 0, 1e15},
    {"drop-fraction", "topology updates", FILIGREE_MEMBER(o.evolution.drop_fraction),
     "share of the connections that the first topology update drops", 0, 1},
    {"drop-schedule", "topology updates", FILIGREE_WORD(o.evolution.drop_schedule),
     "how the share of dropped connections falls over the training"},
    {"stop-evolving", "topology updates", FILIGREE_MEMBER(o.evolution.stop),
     "share of all steps after which the topology stays as it is", 0, 1},
    {"growth-batches", "topology updates", FILIGREE_MEMBER(o.evolution.growth_batches),
     "number of batches whose gradients choose the connections to grow or, by taylor, to prune", 1, 1e6},
    {"redistribute", "topology updates", FILIGREE_WORD(o.evolution.redistribute),
     "whether each layer keeps its number of connections, or all layers share one number; for pruning,"
     " whether the target holds for each layer or for all together"},
    {"final-sparsity", "topology updates", FILIGREE_MEMBER(o.evolution.final_sparsity),
     "sparsity at the end of the topology updates; negative: the same as --sparsity", -1, 1,
     Setting::Ends::high_open},
    {"free-lost", "topology updates", FILIGREE_MEMBER(o.evolution.free_lost),
     "drop the connections of dead neurons, which have no inputs or no consumers left, to regrow them "
     "elsewhere"},
    {"threshold", "topology updates", FILIGREE_MEMBER(o.evolution.threshold),
     "first magnitude below which the ertl rule drops weights", 0, kAny},
    {"threshold-share", "topology updates", FILIGREE_MEMBER(o.evolution.threshold_share),
     "share of the weights that the ertl rule steers its threshold to drop", 0, 1},
    {"threshold-factor", "topology updates", FILIGREE_MEMBER(o.evolution.threshold_factor),
     "factor by which the ertl rule changes its threshold after each update", 1, 1000},
    {"prune-by", "pruning", FILIGREE_WORD(o.pruning.by),
     "which weights pruning removes first: the smallest, those with the least effect, or any"},
    {"prune-schedule", "pruning", FILIGREE_WORD(o.pruning.schedule),
     "whether pruning is gradual (cubic) or happens before the first step (once)"},
    {"structure", "pruning", FILIGREE_WORD(o.pruning.structure),
     "what pruning removes as a whole: single weights, neurons, blocks, or all but n of m inputs"},
    {"group-size", "pruning", FILIGREE_MEMBER(o.pruning.group_size),
     "side of the blocks that are pruned, or m of n-of-m", 1, 65536},
    {"group-kept", "pruning", FILIGREE_MEMBER(o.pruning.group_kept),
     "n of n-of-m pruning: how many of m inputs stay", 1, 65536},
    {"shrink", "pruning", FILIGREE_MEMBER(o.pruning.shrink),
     "weight of the group norms (group lasso) in the loss while pruning", 0, 1000},
    {"time-weight", "pruning", FILIGREE_MEMBER(o.pruning.time_weight),
     "weight of the predicted run time in the loss while pruning", 0, 1e6},
    {"connection-cost", "pruning", FILIGREE_MEMBER(o.pruning.connection_cost),
     "predicted nanoseconds of a connection, for --time-weight", 0, 1e9},
    {"neuron-cost", "pruning", FILIGREE_MEMBER(o.pruning.neuron_cost),
     "predicted nanoseconds of a neuron, for --time-weight", 0, 1e9},
    {"input-cost", "pruning", FILIGREE_MEMBER(o.pruning.input_cost),
     "predicted nanoseconds of an input of the network, for --time-weight", 0, 1e9},
    {"loss", "learning", FILIGREE_WORD(o.learning.loss),
     "loss: of classes cross-entropy (of their softmax) or mse (of sigmoids); binary-cross-entropy (of "
     "sigmoids) of labels, and of two classes by one output; of values squared, absolute or huber. Unless "
     "given, it follows from the task"},
    {"class-weights", "learning", FILIGREE_MEMBER(o.learning.class_weights),
     "how much a row of each class counts, in the order of the classes", 0, 1e9},
    {"balanced", "learning", FILIGREE_MEMBER(o.learning.balanced),
     "weigh rows so that every class counts the same, however many rows it has"},
    {"optimizer", "learning", FILIGREE_WORD(o.learning.optimizer), "optimizer; sgd has no momentum"},
    {"lr", "learning", FILIGREE_MEMBER(o.learning.lr), "learning rate at its highest", 0, 1000},
    {"schedule", "learning", FILIGREE_WORD(o.learning.schedule),
     "how the learning rate falls over the epochs"},
    {"warmup-epochs", "learning", FILIGREE_MEMBER(o.learning.warmup_epochs),
     "number of epochs over which the learning rate rises", 0, 1e9},
    {"step-epochs", "learning", FILIGREE_MEMBER(o.learning.step_epochs),
     "number of epochs between two changes of the learning rate, with --schedule step", 1, 1e9},
    {"step-factor", "learning", FILIGREE_MEMBER(o.learning.step_factor),
     "factor of each change of the learning rate, with --schedule step", 0, 1},
    {"momentum", "learning", FILIGREE_MEMBER(o.learning.momentum), "momentum of the nesterov optimizer", 0, 1,
     Setting::Ends::high_open},
    {"beta1", "learning", FILIGREE_MEMBER(o.learning.beta1),
     "decay of the first moment (adam, adamw); weight of the old momentum in the step of lion", 0, 1,
     Setting::Ends::high_open},
    {"beta2", "learning", FILIGREE_MEMBER(o.learning.beta2),
     "decay of the second moment, for adam and adamw; of the momentum that lion keeps, for which 0.99 "
     "is usual",
     0, 1, Setting::Ends::high_open},
    {"epsilon", "learning", FILIGREE_MEMBER(o.learning.epsilon),
     "constant in the denominator of adam and adamw", 0, 1, Setting::Ends::low_open},
    {"weight-decay", "learning", FILIGREE_MEMBER(o.learning.weight_decay),
     "weight decay, of weights and not of biases: added to the gradient (sgd, nesterov, adam) or decoupled "
     "(adamw, lion)",
     0, 1000},
    {"input-dropout", "learning", FILIGREE_MEMBER(o.learning.input_dropout),
     "share of the inputs that is dropped at random in each step", 0, 1, Setting::Ends::high_open},
    {"dropout", "learning", FILIGREE_MEMBER(o.learning.dropout),
     "share of the hidden neurons that is dropped at random in each step", 0, 1, Setting::Ends::high_open},
    {"label-smoothing", "learning", FILIGREE_MEMBER(o.learning.label_smoothing),
     "share of each target that is spread over all classes", 0, 1, Setting::Ends::high_open},
    {"clip-norm", "learning", FILIGREE_MEMBER(o.learning.clip_norm),
     "largest norm of the gradient over all parameters; 0 does not clip", 0, kAny},
    {"epochs", "run", FILIGREE_MEMBER(o.run.epochs), "number of passes over the training rows", 1, 1e9},
    {"batch", "run", FILIGREE_MEMBER(o.run.batch), "number of rows of a step", 1, 1 << 24},
    {"slices", "run", FILIGREE_MEMBER(o.run.slices),
     "number of parts that a batch is split into, to be computed in parallel; another number rounds "
     "differently; 0: by the batch size",
     0, 1 << 16},
    {"validation", "run", FILIGREE_MEMBER(o.run.validation),
     "share of the training rows that is kept for validation", 0, 1, Setting::Ends::high_open},
    {"patience", "run", FILIGREE_MEMBER(o.run.patience),
     "stop after so many epochs without a better validation metric, and keep the best epoch's network; "
     "needs --validation; 0: off",
     0, 1e9},
    {"metric", "run", FILIGREE_WORD(o.run.metric),
     "what --patience watches on the validation rows; auto: accuracy of classes, the loss of labels, R² of "
     "values"},
    {"seed", "run", FILIGREE_MEMBER(o.run.seed), "seed of all random choices of the training", 0, 0x1p64},
};

#undef FILIGREE_MEMBER
#undef FILIGREE_WORD

bool is_shape(const Setting& setting) {
  return setting.name == "network" || setting.name == "hidden";
}

// Options that will not be written to.
SettingMember member_of(const Setting& setting, const TrainOptions& options) {
  return setting.member(const_cast<TrainOptions&>(options));
}

template <typename... Visits>
struct Visitor : Visits... {
  using Visits::operator()...;
};
template <typename... Visits>
Visitor(Visits...) -> Visitor<Visits...>;

std::string text_of(const Setting& setting, const TrainOptions& options) {
  return std::visit(Visitor{[](const bool* value) -> std::string { return *value ? "true" : "false"; },
                            [](const WordMember& value) { return std::string(value.word()); },
                            [&]<typename T>(const std::vector<T>* value) {
                              return fmt::format("{}", fmt::join(*value, is_shape(setting) ? "-" : ","));
                            },
                            [](const auto* value) { return fmt::format("{}", *value); }},
                    member_of(setting, options));
}

std::string possible(const Setting& setting, const TrainOptions& options) {
  return std::visit(
      Visitor{[](const bool*) -> std::string { return "true or false"; },
              [](const WordMember& value) { return one_of(value.words()); },
              [&](const std::vector<Index>*) -> std::string {
                return setting.name == "network"  ? "numbers of neurons such as 784-256-10"
                       : setting.name == "hidden" ? "numbers of neurons such as 256-256"
                                                  : "numbers such as 1,2";
              },
              [](const std::vector<double>*) -> std::string { return "numbers such as 0.05,0.2"; },
              [&](const auto*) { return possible_numbers(setting); }},
      member_of(setting, options));
}

std::string_view placeholder(const Setting& setting, const TrainOptions& options) {
  return std::visit(Visitor{[](const bool*) -> std::string_view { return ""; },
                            [](const WordMember&) -> std::string_view { return "WORD"; },
                            [&](const std::vector<Index>*) -> std::string_view {
                              return is_shape(setting) ? "N-N-..." : "N,...";
                            },
                            [](const std::vector<double>*) -> std::string_view { return "X,..."; },
                            [](const double*) -> std::string_view { return "X"; },
                            [](const auto*) -> std::string_view { return "N"; }},
                    member_of(setting, options));
}

[[noreturn]] void refuse(const Setting& setting, std::string_view text, const std::string& wanted) {
  throw std::invalid_argument(fmt::format("{} is '{}', but must be {}", setting.name, text, wanted));
}

void throw_if(const std::string& fault) {
  if (!fault.empty()) throw std::invalid_argument(fault);
}

template <typename T>
T number(const Setting& setting, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    refuse(setting, text,
           fmt::format("a {}number {}", std::is_integral_v<T> ? "whole " : "", possible_numbers(setting)));
  throw_if(fault_of_number(setting, value));
  return value;
}

template <typename T>
std::vector<T> numbers(const Setting& setting, std::string_view text) {
  const std::string_view separators = is_shape(setting) ? "-," : ",";
  std::vector<T> list;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    list.push_back(number<T>(setting, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  throw_if(fault_of_length(setting, list.size()));
  return list;
}

const Setting& known_setting(std::string_view name) {
  if (const Setting* found = find_setting(name)) return *found;
  std::vector<std::string_view> names;
  for (const Setting& each : kSettings) names.push_back(each.name);
  throw std::invalid_argument(fmt::format("there is no setting '{}'; {} are", name, one_of(names)));
}

}  // namespace

bool WordMember::set(std::string_view text) const {
  const auto found = std::ranges::find(words_, text);
  if (found == words_.end()) return false;
  set_(at_, found - words_.begin());
  return true;
}

std::span<const Setting> all_settings() {
  return kSettings;
}

const Setting* find_setting(std::string_view name) {
  const auto* const found = std::ranges::find(kSettings, name, &Setting::name);
  return found == std::end(kSettings) ? nullptr : found;
}

}  // namespace filigree::internal

namespace filigree {

using namespace internal;

std::vector<SettingInfo> setting_infos(const TrainOptions& standard) {
  std::vector<SettingInfo> infos;
  for (const Setting& setting : kSettings)
    infos.push_back({setting.name, setting.group, setting.help, possible(setting, standard),
                     text_of(setting, standard), std::holds_alternative<bool*>(member_of(setting, standard)),
                     placeholder(setting, standard)});
  return infos;
}

void apply_setting(TrainOptions& options, std::string_view name, std::string_view text) {
  const Setting& setting = known_setting(name);
  std::visit(Visitor{[&](bool* value) {
                       if (text != "true" && text != "false")
                         refuse(setting, text, possible(setting, options));
                       *value = text == "true";
                     },
                     [&](const WordMember& value) {
                       if (!value.set(text)) refuse(setting, text, possible(setting, options));
                     },
                     [&]<typename T>(std::vector<T>* value) { *value = numbers<T>(setting, text); },
                     [&]<typename T>(T* value) { *value = number<T>(setting, text); }},
             setting.member(options));
}

std::string setting_text(const TrainOptions& options, std::string_view name) {
  return text_of(known_setting(name), options);
}

}  // namespace filigree

namespace filigree::internal {

void clear_list(TrainOptions& options, const Setting& setting) {
  std::visit(Visitor{[]<typename T>(std::vector<T>* value) { value->clear(); }, [](const auto&) {}},
             setting.member(options));
}

void check_settings(const TrainOptions& options) {
  for (const Setting& setting : kSettings)
    std::visit(Visitor{[](const bool*) {}, [](const WordMember&) {},
                       [&]<typename T>(const std::vector<T>* value) {
                         throw_if(fault_of_length(setting, value->size()));
                         for (const T each : *value) throw_if(fault_of_number(setting, each));
                       },
                       [&](const auto* value) { throw_if(fault_of_number(setting, *value)); }},
               member_of(setting, options));
}

std::string fault_of_number(const Setting& limits, double value) {
  using enum Setting::Ends;
  const bool low = limits.ends == low_open ? value > limits.low : value >= limits.low;
  const bool high =
      limits.ends == high_open || limits.high == kAny ? value < limits.high : value <= limits.high;
  if (low && high) return "";  // never for NaN
  return fmt::format("{} is {}, but must be {}", limits.name, value, possible_numbers(limits));
}

std::string fault_of_length(const Setting& setting, std::size_t length) {
  if (setting.name != "network" || length != 1) return "";
  return "network has one number, but must have two or more, inputs first: 784-256-10";
}

std::string possible_numbers(const Setting& limits) {
  if (limits.high >= 1e9) return fmt::format("from {}", limits.low);  // the end is far from any use
  if (limits.ends == Setting::Ends::low_open)
    return fmt::format("above {} and at most {}", limits.low, limits.high);
  return fmt::format("from {} to {}{}", limits.low, limits.ends == Setting::Ends::high_open ? "below " : "",
                     limits.high);
}

}  // namespace filigree::internal
