// SPDX-License-Identifier: Apache-2.0
#include "kernels/choose_experts.h"

namespace filigree::internal {

void choose_experts(std::size_t experts, const float* share, std::size_t stride,
                    std::span<ExpertChoice> chosen) {
  std::size_t have = 0;  // insertion: experts are few, and fewer are chosen
  for (std::size_t e = 0; e < experts; ++e) {
    const float own = share[e * stride];
    std::size_t at = have;
    while (at > 0 && chosen[at - 1].weight < own) --at;
    if (at == chosen.size()) continue;
    if (have < chosen.size()) ++have;
    for (std::size_t i = have - 1; i > at; --i) chosen[i] = chosen[i - 1];
    chosen[at] = {static_cast<std::uint32_t>(e), own};
  }
  if (chosen.size() == 1) return;
  float sum = 0;
  for (const ExpertChoice& each : chosen) sum += each.weight;
  for (ExpertChoice& each : chosen) each.weight /= sum;
}

}  // namespace filigree::internal
