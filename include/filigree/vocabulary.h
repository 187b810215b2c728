// SPDX-License-Identifier: Apache-2.0
// What every module shares: index types, the error type, and how long work is observed and stopped. Standard
// library only; every module may include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace filigree {

using Index = std::int32_t;   // a neuron, row or column
using Offset = std::int64_t;  // a position among connections

// A failure the user can act on: the message names file, line and numbers.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, const char* setting = "")
      : std::runtime_error(message), setting_(setting) {}
  // The setting that helps if it is changed: "memory_limit", "threads", "device", …; "" if none does. A
  // program may add what it calls it.
  const char* setting() const noexcept { return setting_; }

 private:
  const char* setting_;  // a literal
};

// Thrown out of long work after its stop token was triggered.
class Cancelled : public Error {
 public:
  Cancelled() : Error("interrupted") {}
};

// The words of an enumeration's values, in their order: what files and the command line call them.
template <typename T>
struct Words;
template <typename T>
constexpr std::string_view word(T value) {
  return Words<T>::kWords[static_cast<std::size_t>(value)];
}
template <typename T>
std::vector<std::string> words_of(const std::vector<T>& values) {
  std::vector<std::string> words;
  for (const T value : values) words.emplace_back(word(value));
  return words;
}
template <typename T>
constexpr std::optional<T> from_word(std::string_view text) {
  for (std::size_t i = 0; i < Words<T>::kWords.size(); ++i)
    if (Words<T>::kWords[i] == text) return static_cast<T>(i);
  return std::nullopt;
}

// How far a stage of long work has come. `done` reaches `total` when the stage ends.
struct Progress {
  std::string_view stage;
  double done = 0;
  double total = 0;
  std::string_view unit = {};
};

// Who watches long work. Callbacks come from one thread at a time.
struct Observer {
  std::function<void(const Progress&)> progress = {};
  std::stop_token stop = {};
  std::function<void(const std::string&)> warning = {};  // what is no failure, but may not be what was meant

  void warn(const std::string& text) const {
    if (warning) warning(text);
  }

  void report(std::string_view stage, double done, double total, std::string_view unit = {}) const {
    if (progress) progress({stage, done, total, unit});
  }
  void check_stop() const {
    if (stop.stop_requested()) throw Cancelled();
  }
};

}  // namespace filigree
#pragma GCC visibility pop
