// SPDX-License-Identifier: Apache-2.0
// Networks: load and save them, make them from arrays or by the RadiX-Net recipe, look inside.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "filigree/activation.h"
#include "filigree/columns.h"
#include "filigree/options.h"
#include "filigree/scaling.h"
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

// A layer of a network, where it is kept: spans are valid while this view or a copy of it lives.
struct LayerView {
  Index inputs = 0, outputs = 0;
  std::span<const Offset> row_begin;  // one more than there are rows in W
  std::span<const Index> column;      // ascending within a row
  std::span<const float> value;
  std::span<const float> bias;  // one per row of W
  ActivationFunction activation = {};
  // Of a mixture W holds the rows of all experts, one after the other, each with `outputs` neurons.
  Index experts = 1, active_experts = 1;
  std::shared_ptr<const void> kept = {};  // what the spans borrow
};

// An early exit after a layer: rows whose largest probability there is above a threshold stop there.
struct ExitInfo {
  Index after = 0;  // layers
  Offset connections = 0;
};

// What a network says about its inputs and outputs, apart from its layers.
struct NetworkFacts {
  InputScaling scaling = {};                  // of each input, before the first layer
  std::vector<std::string> input_names = {};  // of the inputs; empty: they have none
  // How the columns of a table become the inputs, where these are more than the columns' numbers; else empty.
  std::vector<InputColumn> columns = {};
  std::vector<std::string> target_columns = {};  // the columns of what it tells; empty: not known
  std::optional<Loss> loss = {};                 // what it was trained for, which says what its outputs mean
  // Of the classes, values or labels that the outputs stand for; two classes of one output have two. Empty:
  // they are 0, 1, …
  std::vector<std::string> output_names = {};
  bool operator==(const NetworkFacts&) const = default;
};

// What outputs are for, by the loss: classes where it is not known. Cross-entropy of sigmoids is of labels,
// unless one output has the names of two classes.
Task task_of(const NetworkFacts& facts, Index outputs);

// A network that cannot be changed; copies share it. layer() and layer_info() may read a file or generate the
// layer, if the network came from there; nothing else does. Any number of threads may use one network.
class Network {
 public:
  struct Parts;  // what it is made of: the library's own
  explicit Network(Parts parts);

  Index inputs() const;
  Index outputs() const;
  Index layers() const;
  Index width(Index level) const;  // neurons after `level` layers as they are kept; level 0: before the first
  std::string describe() const;
  bool compiled() const;  // inputs and outputs are mapped onto fewer ones
  const NetworkFacts& facts() const;
  Task task() const;  // by facts().loss; classes if it is not known
  std::vector<ExitInfo> exits() const;
  // All counted from 0; std::invalid_argument if there is none.
  LayerView layer(Index l) const;
  LayerView gate(Index l) const;  // of the mixture that layer l is: an output for each expert
  LayerView exit(Index e) const;  // the head behind exits()[e].after layers
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

// What there is to know about a layer's connections.
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
[[nodiscard]] LayerInfo layer_info(const Network& network, Index layer);

// From arrays. Throws Error if they are unsound or do not fit: columns must ascend within a row, numbers be
// finite, class labels ascend.
[[nodiscard]] Network make_network(std::vector<LayerArrays> layers, const NetworkFacts& facts = {});
// The challenge's network: 32 connections a neuron, as its generator makes them.
[[nodiscard]] Network radix_net(Index neurons, Index layers, std::uint64_t seed);

// A model file, the directory of a training run, any form of interchange.h, or a directory in the official
// challenge layout, of which `neurons` chooses among several sizes (0: the only one) and `layers` the first
// so many (0: all). Throws Error if there is none, std::invalid_argument if neurons or layers are given for a
// model file. Warns of what a file does not say.
[[nodiscard]] Network load(const std::filesystem::path& path, Index neurons = 0, Index layers = 0,
                           const Observer& observer = {});
void save(const Network& network, const std::filesystem::path& path, const Observer& observer = {});
// A model file in memory, and back.
[[nodiscard]] std::vector<std::byte> to_bytes(const Network& network);
[[nodiscard]] Network from_bytes(std::span<const std::byte> bytes);

}  // namespace filigree
#pragma GCC visibility pop
