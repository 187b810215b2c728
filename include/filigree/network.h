// SPDX-License-Identifier: Apache-2.0
// Networks: load and save them, make them from arrays or by the RadiX-Net recipe, look inside.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "filigree/activation.h"
#include "filigree/vocabulary.h"

#pragma GCC visibility push(default)
namespace filigree {

// One layer, as arrays: y = activation(W x + b). W is CSR with one row per output neuron.
struct LayerArrays {
  Index inputs = 0, outputs = 0;
  std::vector<Offset> row_begin;  // outputs + 1
  std::vector<Index> column;      // ascending within a row
  std::vector<float> value;
  std::vector<float> bias;  // outputs
  ActivationFunction activation = {};
};

struct LayerInfo {
  Index inputs = 0, outputs = 0;
  Offset connections = 0;
  Index smallest_fan_in = 0, largest_fan_in = 0;
  Index unread_inputs = 0;     // nobody in this layer reads them
  Index distinct_neurons = 0;  // that differ in connections, weights or bias
  float smallest_weight = 0, largest_weight = 0;
  bool uniform = false;  // all weights are the same
  ActivationFunction activation = {};
  // Of a mixture of experts, each with `outputs` neurons; connections are those of all of them.
  Index experts = 1, active_experts = 1;
  Offset gate_connections = 0;
};

// A head behind a layer by which rows may leave, if it is sure enough of what they are.
struct ExitInfo {
  Index after = 0;  // layers
  Offset connections = 0;
};

// A network that cannot be changed; copies share it.
class Network {
 public:
  struct Impl;
  explicit Network(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

  Index inputs() const;
  Index outputs() const;
  Index layers() const;
  std::string describe() const;
  bool compiled() const;       // inputs and outputs are mapped onto fewer ones
  bool scales_inputs() const;  // users give raw values
  std::string loss() const;    // what it was trained for: "cross-entropy", "mse", or "" if it does not say
  std::vector<Index> class_labels() const;  // what its training data called each output; empty: 0, 1, …
  std::vector<std::string> input_names() const;  // of the columns it was trained on; empty if they had none
  std::vector<ExitInfo> exits() const;
  LayerInfo layer_info(Index layer) const;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

Network make_network(std::vector<LayerArrays> layers);
Network radix_net(Index neurons, Index layers, std::uint64_t seed);

// A model file (safetensors), or a directory in the official challenge layout, whose `neurons` must be given.
Network load(const std::filesystem::path& path, Index neurons = 0, Index layers = 0);
void save(const Network& network, const std::filesystem::path& path, const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
