// SPDX-License-Identifier: Apache-2.0
// What a public Network holds.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filigree/network.h"
#include "network/layer_source.h"
#include "network/model_file.h"

namespace filigree {

struct Network::Impl {
  std::shared_ptr<const LayerSource> source;
  // Of compiled networks; see Model.
  std::vector<Index> input_of;
  std::vector<Index> output_of;
  std::vector<float> output_constant;
  // Of any; see Model.
  std::vector<float> input_mean = {}, input_scale = {};
  std::string loss = {};
  std::vector<Index> class_label = {};
  std::vector<ExitHead> exits = {};
  DataOrigin origin = {};
};

// Throws Error if the network has exits or mixtures; `what`: what takes plain ones only.
void require_plain(const Network& network, const char* what);

// All of a network, and back.
Model to_model(const Network& network, const Observer& observer = {});
Network from_model(Model model, const std::string& description);

}  // namespace filigree
