// SPDX-License-Identifier: Apache-2.0
// Networks that are stored as one matrix and one bias for each layer: what such files leave open is decided
// here.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "interchange/flow.h"
#include "interchange/interchange.h"

namespace filigree::internal {

struct StoredLayer {
  std::string name;               // for messages
  Weights weights = {};           // as the file has them
  std::vector<double> bias = {};  // empty: none
};

// 2 comes before 10.
bool in_natural_order(const std::string& a, const std::string& b);

// Turns matrices so that each layer takes what the one before gives, as the options say or as it follows from
// the sizes; then takes bias rows off. Throws Error where they do not follow each other either way.
void orient(std::vector<StoredLayer>& layers, const ImportOptions& options, std::vector<std::string>& notes);

// One layer after the other, with the activations that the options say.
Network network_of(const std::vector<StoredLayer>& layers, const ImportOptions& options,
                   const std::string& name, std::vector<std::string>& notes);

// Says which activations are taken for granted, and how to choose others.
std::string activations_note(const ImportOptions& options);

// Without the zeros, which are counted.
void drop_zeros(Weights& weights, bool keep, Offset& zeros);

}  // namespace filigree::internal
