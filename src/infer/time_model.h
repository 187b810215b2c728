// SPDX-License-Identifier: Apache-2.0
// How long a plan takes on this machine: the sum over what it is made of, each part at a measured price.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/system.h"
#include "infer/dense_run.h"

namespace filigree::internal {

// What a call of run_dense spends its time on. Parts after `call` are met once per panel.
enum class TimePart {
  call,    // threads, buffers
  column,  // a value of each row, transposed
  input,   // an input, scaled and put in its place
  output,  // an output of a tile: its sums begun and ended
  run,     // a change of the number of connections
  eights,  // a connection of eight to eleven outputs that share their inputs
  fours,   // of four to seven
  near,    // of outputs with inputs of their own, from a tile that fits L1
  far,     // from one that does not
  alone,   // of the last one to three outputs of a run
  curve,   // an output through sigmoid or tanh
  answer,  // an output of the network, written to where its row is
};
inline constexpr std::size_t kTimeParts = 12;
const std::array<const char*, kTimeParts>& time_part_names();

// How many of each.
using PartCounts = std::array<double, kTimeParts>;
PartCounts count_parts(const ResidentPlan& plan, const InputMap& map, std::size_t rows);

struct PartPrices {
  PartCounts seconds = {};  // of one of each part, never negative
  // Of the networks that were measured, how far the sum is from the measurement: the median, and the worst.
  double error = 0, worst_error = 0;
  double yardstick = 0;  // seconds of the Yardstick meanwhile

  double of(const PartCounts& counts) const;
  double operator[](TimePart part) const { return seconds[static_cast<std::size_t>(part)]; }
};

// Of the second of two calls: the first brings weights and inputs into the caches, wherever they were.
template <typename Call>
double warm_seconds(const Call& call) {
  call();
  const double start = seconds_now();
  call();
  return seconds_now() - start;
}

// A plan and rows for it, to be timed.
class TimedPlan {
 public:
  TimedPlan(std::unique_ptr<ResidentPlan> plan, InputMap map, std::size_t rows);
  double seconds() const;  // of a call, warm
  PartCounts parts() const { return count_parts(*plan_, map_, rows_); }

 private:
  std::unique_ptr<ResidentPlan> plan_;
  InputMap map_;
  std::size_t rows_;
  std::vector<std::uint8_t> inputs_;
  std::vector<Index> output_of_;
  mutable std::vector<float> outputs_;
};

// A network that is always the same: its time says how fast the machine is now. Several copies take turns,
// because where in memory one happens to be makes a tenth of its time.
class Yardstick {
 public:
  explicit Yardstick(std::size_t rows);
  double seconds();  // of a call, warm

 private:
  std::vector<TimedPlan> copies_;
  std::size_t next_ = 0;
};

// Some sixty small networks of all kinds.
std::vector<TimedPlan> price_samples(std::size_t rows);
// Times networks for `rows` rows, with the threads that are set, so many rounds, and fits the prices.
PartPrices fit_prices(const std::vector<TimedPlan>& plans, std::size_t rows, int rounds,
                      const Observer& observer);

}  // namespace filigree::internal
