// SPDX-License-Identifier: Apache-2.0
// The settings of training by name: what they mean, what they may be, and how text becomes one.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "filigree/train.h"

namespace filigree {

// Throws std::invalid_argument for the first value that is out of its range.
void check_settings(const TrainOptions& options);

// What is wrong with a number, as a message: "sparsity is 1.5, but must be from 0 to below 1". Empty:
// nothing. Numbers of a list are checked one by one.
std::string fault_of_number(std::string_view name, double value);

// The same for the length of a list: a network has inputs and outputs at least, unless it is left open.
std::string fault_of_length(std::string_view name, std::size_t length);

// "from 0 to below 1"
std::string possible_numbers(std::string_view name);

// "he, glorot or ertl"
template <typename Names>
std::string one_of(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + std::string(names[i]);
  return text;
}

// For visitors of for_each_setting: which kind a member is of.
template <typename T>
inline constexpr bool is_list = false;
template <typename T>
inline constexpr bool is_list<std::vector<T>> = true;

}  // namespace filigree
