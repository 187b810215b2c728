// SPDX-License-Identifier: Apache-2.0
// Which experts of a mixture a sample goes to, for training and inference alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace filigree::internal {

struct ExpertChoice {
  std::uint32_t expert = 0;
  float weight = 0;
};

// The chosen.size() largest of a sample's shares (share[e * stride], the softmax of what its gate says), the
// first of equals, largest first. They weigh their part of what the chosen have together; a single one weighs
// its share, or the gate would never learn.
void choose_experts(std::size_t experts, const float* share, std::size_t stride,
                    std::span<ExpertChoice> chosen);

}  // namespace filigree::internal
