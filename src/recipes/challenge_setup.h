// SPDX-License-Identifier: Apache-2.0
// The data of a challenge run: network, images and, where there is one, the official answer.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "filigree/challenge.h"
#include "infer/categories.h"
#include "network/network.h"
#include "sparse/bit_panels.h"
#include "sparse/input_rows.h"

namespace filigree::internal {

struct ChallengeData {
  Network network;
  InputRows images;
  BitPanels bits;  // the same, if they are binary
  std::string images_from;
  std::optional<std::vector<Index>> truth;  // official categories among the images

  const LayerSource& layers() const { return *network.parts().layers; }
};

// `with_truth`: read the official list, if there is one.
ChallengeData load_challenge(const ChallengeInputs& source, bool with_truth, const Observer& observer);
InputRows load_challenge_images(const ChallengeInputs& source, std::string& described,
                                const Observer& observer);

// Packs the network for the engine. `memory_limit` is what the layers may take.
struct PreparedEngine {
  CategoryPlan plan;
  Offset connections = 0;           // of the original network
  Offset compiled_connections = 0;  // of what is run
  bool streamed = false;
};
PreparedEngine prepare_engine(Engine engine, const Network& network, std::uint64_t memory_limit,
                              const Observer& observer);

// Compares an answer with the official list, or with the double-precision reference; see Check.
struct Verification {
  Verified verified = Verified::none;
  Offset checked_rows = 0;
  std::vector<Index> mismatches;  // ascending
};
Verification verify_categories(const ChallengeData& data, const std::vector<Index>& categories,
                               Offset connections, Check check, const Observer& observer);

}  // namespace filigree::internal
