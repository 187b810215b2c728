// SPDX-License-Identifier: Apache-2.0
// Tests of the choice of experts against sorting.
#include "kernels/choose_experts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/random.h"

namespace filigree::internal {
namespace {

TEST(ChooseExperts, TakesTheLargestAndTheFirstOfEquals) {
  Random random(3);
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t experts = 1 + random.below(12), stride = 1 + random.below(3);
    const std::size_t active = 1 + random.below(experts);
    std::vector<float> share(experts * stride, -1.0f);
    std::vector<std::size_t> order(experts);
    for (std::size_t e = 0; e < experts; ++e) share[e * stride] = static_cast<float>(1 + random.below(6)) / 8;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return share[a * stride] > share[b * stride]; });
    std::vector<ExpertChoice> chosen(active);
    choose_experts(experts, share.data(), stride, chosen);
    double sum = 0;
    for (std::size_t i = 0; i < active; ++i) sum += double{share[order[i] * stride]};
    for (std::size_t i = 0; i < active; ++i) {
      EXPECT_EQ(chosen[i].expert, order[i]);
      const double own = double{share[order[i] * stride]};
      EXPECT_NEAR(chosen[i].weight, active == 1 ? own : own / sum, 1e-6);
    }
  }
}

}  // namespace
}  // namespace filigree::internal
