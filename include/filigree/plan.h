// SPDX-License-Identifier: Apache-2.0
// Plans: networks made ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filigree/network.h"
#include "filigree/reports.h"
#include "filigree/rows.h"

#pragma GCC visibility push(default)
namespace filigree {

struct CompilePass {
  std::string name;
  Offset neurons_removed = 0;
  Offset connections_removed = 0;
};

struct CompileResult {
  Network network;  // same inputs and outputs, fewer neurons and connections
  std::vector<CompilePass> passes;
  Offset connections_before = 0;
  Offset connections_after = 0;
};

// The exact passes: what the network computes stays the same, up to the order of summation. Exits are left
// out; mixtures of experts cannot be compiled.
[[nodiscard]] CompileResult compile_network(const Network& network, const Observer& observer = {});

// A network made ready to run. It runs in the session that it was compiled in (see session.h), whoever runs
// it. Any number of threads may run one plan at the same time; copies share it.
class Plan {
 public:
  struct Impl;  // the library's own
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  Index inputs() const;
  Index outputs() const;
  const NetworkFacts& facts() const;  // of the network
  // Rows of inputs() columns, as they come: a model that scales its inputs does so itself. `outputs` gets
  // outputs() values for each row: what the network computes, so logits of one trained with cross-entropy;
  // predict() makes probabilities of them. Inputs and outputs do not overlap. Floats that are not finite are
  // an Error that names row and column, and leave the outputs undefined; rows that do not fit are a
  // std::invalid_argument. What the rows took is added to `work`, unless that is null.
  void run(const Rows& inputs, const OutputRows& outputs, const Observer& observer = {},
           RunWork* work = nullptr) const;
  // The same into new memory. A span holds rows of inputs() values, one after the other.
  [[nodiscard]] std::vector<float> run(const Rows& inputs, const Observer& observer = {},
                                       RunWork* work = nullptr) const;
  [[nodiscard]] std::vector<float> run(std::span<const float> inputs, const Observer& observer = {},
                                       RunWork* work = nullptr) const;
  [[nodiscard]] std::vector<float> run(std::span<const std::uint8_t> inputs, const Observer& observer = {},
                                       RunWork* work = nullptr) const;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

struct PlanOptions {
  // Rows leave by the first exit whose largest probability is above this (largest output, of a network
  // trained with mse), with the outputs of its head; 1: all rows go to the end.
  double exit_threshold = 1;
};

// Compiles a network and packs it for this machine. Networks with mixtures, and with exits that rows may
// leave by, are packed as they are. Throws std::invalid_argument if a threshold is given for a network
// without exits.
[[nodiscard]] Plan compile(const Network& network, const PlanOptions& options = {},
                           const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
