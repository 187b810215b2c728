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
    {"network", "neurons per layer, inputs first", 1, 1 << 24},
    {"dense", "full weight matrices: the baseline"},
    {"sparsity", "share of weights that do not exist", 0, 1, Ends::high_open},
    {"distribution", "of the connections over the layers"},
    {"densities", "share of weights of each matrix, for distribution densities", 0, 1, Ends::low_open},
    {"init", "how weights start"},
    {"activation", "of hidden neurons"},
    {"slope", "below zero, of leaky-relu and all-relu", 0, 1},
    {"scaling", "of inputs: to mean 0 and deviation 1, to a largest magnitude of 1"},
    {"exits", "hidden layers, counted from 1, behind which a head may end the computation", 1, 1 << 24},
    {"exit-weight", "of the loss of each such head", 0, 1000},
    {"exit-density", "share of the weights of such a head", 0, 1, Ends::low_open},
    {"mixtures", "hidden layers that are mixtures of experts, each like the layer it stands for", 1, 1 << 24},
    {"experts", "of each mixture", 2, 1024},
    {"active-experts", "of those, how many a row goes to", 1, 1024},
    {"gate-density", "share of the weights of what chooses among experts", 0, 1, Ends::low_open},
    {"balance", "weight of the loss that spreads rows evenly over experts", 0, 1000},
    {"evolve", "how connections are dropped and grown"},
    {"update-every", "steps from one evolution to the next", 1, 1e15},
    {"drop-fraction", "share of connections dropped by the first evolution", 0, 1},
    {"drop-schedule", "how that share falls"},
    {"stop-evolving", "share of all steps after which the topology stays", 0, 1},
    {"growth-batches", "batches whose gradients choose what grows, prune by taylor: what goes", 1, 1e6},
    {"redistribute", "where dropped connections may grow again; prune: what weights are compared with"},
    {"final-sparsity", "reached by evolution, negative: it stays", -1, 1, Ends::high_open},
    {"prune-by", "prune: the smallest weights go first, or those with the least effect on the loss"},
    {"prune-schedule", "prune: ever slower until the last evolution, or once before the first step"},
    {"structure", "prune: single weights, whole neurons, square blocks, or all but n of m inputs in a row"},
    {"group-size", "structure blocks: their side; n-of-m: m", 1, 65536},
    {"group-kept", "structure n-of-m: n", 1, 65536},
    {"shrink", "weight of the groups' norms in the loss, while pruning", 0, 1000},
    {"time-weight", "weight of the predicted time in the loss, while pruning", 0, 1e6},
    {"connection-cost", "for that prediction: ns of a connection", 0, 1e9},
    {"neuron-cost", "for that prediction: ns of a neuron", 0, 1e9},
    {"input-cost", "for that prediction: ns of an input of the network", 0, 1e9},
    {"free-lost", "drop connections of neurons without inputs or readers, ertl: without any cost"},
    {"threshold", "ertl: the first threshold of dropping", 0, kAny},
    {"threshold-share", "ertl: share of weights it is steered to drop", 0, 1},
    {"threshold-factor", "ertl: by which it changes after each evolution", 1, 1000},
    {"loss", "softmax with cross-entropy, or sigmoid with mean squared error"},
    {"optimizer", "how gradients become steps"},
    {"lr", "learning rate", 0, 1000},
    {"schedule", "of the learning rate"},
    {"warmup-epochs", "over which the learning rate rises", 0, 1e9},
    {"step-epochs", "schedule step: every so many epochs", 1, 1e9},
    {"step-factor", "schedule step: the rate is multiplied by this", 0, 1},
    {"momentum", "of nesterov", 0, 1, Ends::high_open},
    {"beta1", "of adam and adamw", 0, 1, Ends::high_open},
    {"beta2", "of adam and adamw", 0, 1, Ends::high_open},
    {"epsilon", "of adam and adamw", 0, 1, Ends::low_open},
    {"weight-decay", "pull of the weights to zero", 0, 1000},
    {"input-dropout", "share of inputs left out", 0, 1, Ends::high_open},
    {"dropout", "share of hidden neurons left out", 0, 1, Ends::high_open},
    {"label-smoothing", "share of the target spread over all classes", 0, 1, Ends::high_open},
    {"clip-norm", "largest norm of the gradient, 0: any", 0, kAny},
    {"epochs", "passes over the training rows", 1, 1e9},
    {"batch", "rows per step", 1, 1 << 24},
    {"slices", "parts of a batch that may run side by side, 0: by its size", 0, 1 << 16},
    {"validation", "share of the training rows kept for validation", 0, 1, Ends::high_open},
    {"patience", "epochs without a better validation accuracy before stopping, 0: never", 0, 1e9},
    {"seed", "of all random choices", 0, 0x1p64},
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
         : name == "evolve" ? "evolution"
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
                     std::is_same_v<std::decay_t<decltype(value)>, bool>});
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
