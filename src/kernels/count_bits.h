// SPDX-License-Identifier: Apache-2.0
// Counting ones of a bit panel into a float panel: the first step of a run on binary inputs.
#pragma once

#include <cstdint>
#include <span>

#include "filigree/vocabulary.h"

namespace filigree::internal {

// Which columns are added up into each input of a network: columns column[begin[n]] … column[begin[n + 1]]
// into n.
struct InputGroups {
  std::span<const std::uint32_t> begin;  // inputs + 1
  std::span<const std::uint16_t> column;
};

// x[n * kPanelRows + r] = how many of input n's columns have bit r set. x is aligned to kAlignment.
void count_bits(const std::uint32_t* bits, const InputGroups& groups, float* x);
void count_bits_reference(const std::uint32_t* bits, const InputGroups& groups, float* x);

}  // namespace filigree::internal
