// Plans: networks made ready to run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filigree/network.h"

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

// The exact passes: what the network computes stays the same, up to the order of summation.
CompileResult compile_network(const Network& network, const Observer& observer = {});

class Plan {
 public:
  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  Index inputs() const;
  Index outputs() const;
  // `inputs` holds rows × inputs() values, row-major, as they come: a model that scales its inputs does so
  // itself. The result holds rows × outputs().
  std::vector<float> run(std::span<const float> inputs, const Observer& observer = {}) const;
  std::vector<float> run(std::span<const std::uint8_t> inputs, const Observer& observer = {}) const;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Compiles a network and packs it for this machine.
Plan compile(const Network& network, const Observer& observer = {});

}  // namespace filigree
