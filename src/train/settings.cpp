// SPDX-License-Identifier: Apache-2.0
// The table of settings and the reading of their text.
#include "train/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <stdexcept>

namespace filigree {
namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();

enum class Ends { closed, low_open, high_open };

struct Setting {
  std::string_view name, help;
  double low = 0, high = 0;  // of numbers
  Ends ends = Ends::closed;
};

constexpr Setting kSettings[] = {
    {"network", "number of neurons of each layer, inputs first", 1, 1 << 24},
    {"dense", "train full weight matrices, as a baseline"},
    {"sparsity", "share of the weights that do not exist", 0, 1, Ends::high_open},
    {"distribution",
     "how connections are spread over the layers: uniform gives every layer the same density, er "
     "(Erdős–Rényi) "
     "gives small layers a higher one, densities takes --densities"},
    {"densities", "share of the weights that exist in each layer, with --distribution densities", 0, 1,
     Ends::low_open},
    {"init", "distribution of the initial weights"},
    {"activation",
     "activation function of the hidden neurons; all-relu is leaky-relu whose slope changes sign from layer "
     "to "
     "layer"},
    {"slope", "slope below zero of leaky-relu and all-relu", 0, 1},
    {"scaling",
     "scaling of the inputs: standard to mean 0 and deviation 1, unit to a largest magnitude of 1"},
    {"exits", "hidden layers, counted from 1, that are followed by an early exit", 1, 1 << 24},
    {"exit-weight", "weight of the loss of each early exit", 0, 1000},
    {"exit-density", "share of the weights of an early exit that exist", 0, 1, Ends::low_open},
    {"mixtures", "hidden layers, counted from 1, that are mixtures of experts", 1, 1 << 24},
    {"experts", "number of experts of each mixture", 2, 1024},
    {"active-experts", "number of experts that compute each row", 1, 1024},
    {"gate-density", "share of the weights of a gate, which chooses the experts of a row, that exist", 0, 1,
     Ends::low_open},
    {"balance", "weight of the loss that spreads rows evenly over the experts", 0, 1000},
    {"evolve",
     "rule of topology updates: rigl grows where the gradient is largest, set at random, ertl drops by an "
     "adaptive threshold, snfs gives layers with large momentum more, granet prunes from --sparsity to "
     "--final-sparsity and regrows, prune only drops, none keeps the first topology"},
    {"update-every", "number of steps between two topology updates; 0 chooses by the number of steps", 0,
     1e15},
    {"drop-fraction", "share of the connections that the first topology update drops", 0, 1},
    {"drop-schedule", "how the share of dropped connections falls over the training"},
    {"stop-evolving", "share of all steps after which the topology stays as it is", 0, 1},
    {"growth-batches",
     "number of batches whose gradients choose the connections to grow or, by taylor, to prune", 1, 1e6},
    {"redistribute",
     "whether each layer keeps its number of connections, or all layers share one number; for pruning, "
     "whether "
     "the target holds for each layer or for all together"},
    {"final-sparsity", "sparsity that topology updates lead to; negative keeps the first one", -1, 1,
     Ends::high_open},
    {"prune-by", "which weights pruning removes first: the smallest, those with the least effect, or any"},
    {"prune-schedule", "whether pruning is gradual (cubic) or happens before the first step (once)"},
    {"structure",
     "what pruning removes as a whole: single weights, neurons, blocks, or all but n of m inputs"},
    {"group-size", "side of the blocks that are pruned, or m of n-of-m", 1, 65536},
    {"group-kept", "n of n-of-m pruning: how many of m inputs stay", 1, 65536},
    {"shrink", "weight of the group norms (group lasso) in the loss while pruning", 0, 1000},
    {"time-weight", "weight of the predicted run time in the loss while pruning", 0, 1e6},
    {"connection-cost", "predicted nanoseconds of a connection, for --time-weight", 0, 1e9},
    {"neuron-cost", "predicted nanoseconds of a neuron, for --time-weight", 0, 1e9},
    {"input-cost", "predicted nanoseconds of an input of the network, for --time-weight", 0, 1e9},
    {"free-lost", "drop the connections of neurons that have no inputs or no consumers left"},
    {"threshold", "first magnitude below which the ertl rule drops weights", 0, kAny},
    {"threshold-share", "share of the weights that the ertl rule steers its threshold to drop", 0, 1},
    {"threshold-factor", "factor by which the ertl rule changes its threshold after each update", 1, 1000},
    {"loss", "loss: softmax with cross-entropy, or sigmoid with mean squared error"},
    {"optimizer", "how gradients become steps"},
    {"lr", "learning rate at its highest", 0, 1000},
    {"schedule", "how the learning rate falls over the epochs"},
    {"warmup-epochs", "number of epochs over which the learning rate rises", 0, 1e9},
    {"step-epochs", "number of epochs between two changes of the learning rate, with --schedule step", 1,
     1e9},
    {"step-factor", "factor of each change of the learning rate, with --schedule step", 0, 1},
    {"momentum", "momentum of the nesterov optimizer", 0, 1, Ends::high_open},
    {"beta1", "decay of the first moment, for adam and adamw", 0, 1, Ends::high_open},
    {"beta2",
     "decay of the second moment, for adam and adamw; of the momentum that lion keeps, for which 0.99 is "
     "usual",
     0, 1, Ends::high_open},
    {"epsilon", "constant in the denominator of adam and adamw", 0, 1, Ends::low_open},
    {"weight-decay", "strength of the pull of the weights towards zero", 0, 1000},
    {"input-dropout", "share of the inputs that is dropped at random in each step", 0, 1, Ends::high_open},
    {"dropout", "share of the hidden neurons that is dropped at random in each step", 0, 1, Ends::high_open},
    {"label-smoothing", "share of each target that is spread over all classes", 0, 1, Ends::high_open},
    {"clip-norm", "largest norm of the gradient over all parameters; 0 does not clip", 0, kAny},
    {"epochs", "number of passes over the training rows", 1, 1e9},
    {"batch", "number of rows of a step", 1, 1 << 24},
    {"slices",
     "number of parts of a batch that may run in parallel, on which results depend; 0 chooses by the batch",
     0, 1 << 16},
    {"validation", "share of the training rows that is kept for validation", 0, 1, Ends::high_open},
    {"patience", "epochs without a better validation accuracy after which training stops; 0 never does", 0,
     1e9},
    {"seed", "seed of all random choices of the training", 0, 0x1p64},
};

const Setting& setting(std::string_view name) {
  for (const Setting& each : kSettings)
    if (each.name == name) return each;
  throw std::logic_error(fmt::format("the table of settings lacks {}", name));
}

template <typename T>
std::string text_of(std::string_view name, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(word(value));
  } else if constexpr (is_list<T>) {
    return fmt::format("{}", fmt::join(value, name == "network" ? "-" : ","));
  } else {
    return fmt::format("{}", value);
  }
}

template <typename T>
std::string possible(std::string_view name, const T&) {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_enum_v<T>) {
    return one_of(Words<T>::words);
  } else if constexpr (std::is_same_v<T, std::vector<Index>>) {
    return name == "network" ? "numbers of neurons such as 784-256-10" : "numbers such as 1,2";
  } else if constexpr (is_list<T>) {
    return "numbers such as 0.05,0.2";
  } else {
    return possible_numbers(name);
  }
}

template <typename T>
std::string_view placeholder(std::string_view name, const T&) {
  if constexpr (std::is_same_v<T, bool>) {
    return "";
  } else if constexpr (std::is_enum_v<T>) {
    return "WORD";
  } else if constexpr (is_list<T>) {
    return name == "network" ? "N-N-..." : std::is_same_v<T, std::vector<Index>> ? "N,..." : "X,...";
  } else {
    return std::is_integral_v<T> ? "N" : "X";
  }
}

[[noreturn]] void refuse(std::string_view name, std::string_view text, const std::string& wanted) {
  throw std::invalid_argument(fmt::format("{} is '{}', but must be {}", name, text, wanted));
}

template <typename T>
T number(std::string_view name, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = std::is_integral_v<T>;
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    refuse(name, text, fmt::format("a {}number {}", whole ? "whole " : "", possible_numbers(name)));
  if (const std::string fault = fault_of_number(name, static_cast<double>(value)); !fault.empty())
    throw std::invalid_argument(fault);
  return value;
}

template <typename T>
void read_list(std::string_view name, std::string_view text, std::vector<T>& list) {
  const std::string_view separators = name == "network" ? "-," : ",";
  list.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of(separators, begin), text.size());
    list.push_back(number<T>(name, text.substr(begin, end - begin)));
    begin = end + 1;
  }
  if (const std::string fault = fault_of_length(name, list.size()); !fault.empty())
    throw std::invalid_argument(fault);
}

template <typename T>
void read(std::string_view name, std::string_view text, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    if (text != "true" && text != "false") refuse(name, text, possible(name, value));
    value = text == "true";
  } else if constexpr (std::is_enum_v<T>) {
    const auto found = from_word<T>(text);
    if (!found) refuse(name, text, possible(name, value));
    value = *found;
  } else if constexpr (is_list<T>) {
    read_list(name, text, value);
  } else {
    value = number<T>(name, text);
  }
}

std::string_view group_of(std::string_view name, std::string_view before) {
  return name == "network"  ? "network"
         : name == "evolve" ? "topology updates"
         : name == "loss"   ? "learning"
                            : before;
}

}  // namespace

std::vector<SettingInfo> setting_infos(const TrainOptions& standard) {
  std::vector<SettingInfo> infos;
  std::string_view group;
  for_each_setting(standard, [&](std::string_view name, const auto& value) {
    group = group_of(name, group);
    infos.push_back({name, group, setting(name).help, possible(name, value), text_of(name, value),
                     std::is_same_v<std::decay_t<decltype(value)>, bool>, placeholder(name, value)});
  });
  return infos;
}

void apply_setting(TrainOptions& options, std::string_view name, std::string_view text) {
  bool found = false;
  std::vector<std::string_view> names;
  for_each_setting(options, [&](std::string_view each, auto& value) {
    names.push_back(each);
    if (each != name) return;
    found = true;
    read(name, text, value);
  });
  if (!found)
    throw std::invalid_argument(fmt::format("there is no setting '{}'; {} are", name, one_of(names)));
}

void check_settings(const TrainOptions& options) {
  const auto check = [](const std::string& fault) {
    if (!fault.empty()) throw std::invalid_argument(fault);
  };
  for_each_setting(options, [&](std::string_view name, const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (is_list<T>) {
      check(fault_of_length(name, value.size()));
      for (const auto each : value) check(fault_of_number(name, static_cast<double>(each)));
    } else if constexpr (!std::is_same_v<T, bool> && !std::is_enum_v<T>) {
      check(fault_of_number(name, static_cast<double>(value)));
    }
  });
}

std::string fault_of_number(std::string_view name, double value) {
  const Setting& limits = setting(name);
  const bool low = limits.ends == Ends::low_open ? value > limits.low : value >= limits.low;
  const bool high =
      limits.ends == Ends::high_open || limits.high == kAny ? value < limits.high : value <= limits.high;
  if (low && high) return "";  // never for NaN
  return fmt::format("{} is {}, but must be {}", name, value, possible_numbers(name));
}

std::string fault_of_length(std::string_view name, std::size_t length) {
  if (name != "network" || length != 1) return "";
  return "network has one number, but must have two or more, inputs first: 784-256-10";
}

std::string possible_numbers(std::string_view name) {
  const Setting& limits = setting(name);
  if (limits.high >= 1e9) return fmt::format("from {}", limits.low);  // the end is far from any use
  if (limits.ends == Ends::low_open) return fmt::format("above {} and at most {}", limits.low, limits.high);
  return fmt::format("from {} to {}{}", limits.low, limits.ends == Ends::high_open ? "below " : "",
                     limits.high);
}

}  // namespace filigree
