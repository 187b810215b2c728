// SPDX-License-Identifier: Apache-2.0
// The table of settings: what each is called, where it is kept, what it may be and what it means. TOML files,
// the command line, help texts and checks are made from it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "filigree/train.h"

namespace filigree::internal {

// A member whose values have words.
class WordMember {
 public:
  template <typename T>
  explicit WordMember(T& member)
      : words_(Words<T>::kWords),
        at_(&member),
        get_([](const void* at) { return static_cast<std::size_t>(*static_cast<const T*>(at)); }),
        set_([](void* at, std::size_t value) { *static_cast<T*>(at) = static_cast<T>(value); }) {}

  std::span<const std::string_view> words() const { return words_; }
  std::string_view word() const { return words_[get_(at_)]; }
  bool set(std::string_view text) const;  // false if there is no such word

 private:
  std::span<const std::string_view> words_;
  void* at_;
  std::size_t (*get_)(const void*);
  void (*set_)(void*, std::size_t);
};

using SettingMember = std::variant<bool*, double*, Index*, std::int64_t*, std::uint64_t*, std::vector<Index>*,
                                   std::vector<double>*, WordMember>;

struct Setting {
  enum class Ends { closed, low_open, high_open };

  std::string_view name, group;
  SettingMember (*member)(TrainOptions&);
  std::string_view help;
  double low = 0, high = 0;  // of numbers, those of a list one by one
  Ends ends = Ends::closed;
};

std::span<const Setting> all_settings();
// Null: there is none of that name.
const Setting* find_setting(std::string_view name);

// A list becomes empty; other settings stay.
void clear_list(TrainOptions& options, const Setting& setting);

// Throws std::invalid_argument for the first value that is out of its range.
void check_settings(const TrainOptions& options);

// What is wrong with a number, as a message: "sparsity is 1.5, but must be from 0 to below 1". Empty:
// nothing.
std::string fault_of_number(const Setting& setting, double value);

// The same for the length of a list: a network has inputs and outputs at least, unless it is left open.
std::string fault_of_length(const Setting& setting, std::size_t length);

// "from 0 to below 1"
std::string possible_numbers(const Setting& setting);

// "he, glorot or ertl"
template <typename Names>
std::string one_of(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " or ") + std::string(names[i]);
  return text;
}

template <typename T>
inline constexpr bool kIsList = false;
template <typename T>
inline constexpr bool kIsList<std::vector<T>> = true;

}  // namespace filigree::internal
