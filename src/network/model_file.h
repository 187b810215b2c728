// SPDX-License-Identifier: Apache-2.0
// Model files: a network as one safetensors file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "io/source.h"
#include "io/target.h"
#include "network/network.h"

namespace filigree::internal {

// Per layer K, counted from 0: layers.K.row_begin and .column (the smallest of U8, U16, U32, I32 and I64 that
// fits), .value (F32; a single one if all are equal), .bias (the same). A layer with all its connections has
// neither row_begin nor column: its value is a matrix [outputs, inputs]. input.mean and input.scale (F32)
// where inputs are scaled, class.label (I32) where classes are not called 0, 1, …. The metadata holds the
// format's name and version, the loss, and per layer the inputs, the activation, the cap, and the slope of a
// leaky-relu. A mixture's experts are stored as one layer, and gates.K.* are the tensors of its gate;
// exits.K.* are the tensors of the head behind layer K.
Network read_model(const std::filesystem::path& path);
Network read_model(Source source);
void write_model(Target target, const Network& network, const Observer& observer = {});
// The same from parts that nobody has checked; `layers` are their layers.
void write_model(Target target, const Network::Parts& parts, std::span<const LayerPointer> layers);

// What the metadata of a file says of inputs and outputs, and how it is said: all but the scaling.
void read_facts(const std::map<std::string, std::string>& metadata, const std::string& name,
                NetworkFacts& facts);
std::map<std::string, std::string> metadata_of(const NetworkFacts& facts);

}  // namespace filigree::internal
