// SPDX-License-Identifier: Apache-2.0
// Tests of storing panels against the reference on every SIMD target.
#include "kernels/store_panel.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "kernels/packed.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kLanes = kPanelRows;

// Every second map is in order; others skip, repeat and exchange neurons, with constants between.
std::vector<Index> some_map(std::size_t outputs, std::size_t neurons, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> map(outputs);
  for (std::size_t o = 0; o < outputs; ++o)
    map[o] =
        seed % 2 == 0 ? static_cast<Index>(o % neurons) : static_cast<Index>(random.below(neurons + 1)) - 1;
  return map;
}

TEST(StorePanel, GivesTheBitsOfTheReferenceForEveryShapeAndTouchesNothingElse) {
  for_each_target([] {
    for (const std::size_t outputs : {0u, 1u, 3u, 4u, 5u, 10u, 63u, 64u, 65u, 130u}) {
      for (std::size_t rows = 0; rows <= kLanes; ++rows) {
        const std::size_t neurons = outputs + 3, stride = outputs + rows % 3;
        const std::vector<float> panel = random_dense(neurons * kLanes, rows + 1),
                                 constant = random_dense(outputs, rows + 2);
        const std::vector<Index> output_of = some_map(outputs, neurons, rows);
        std::vector<float> found(rows * stride + 8, -7), expected = found;
        store_panel(panel.data(), rows, {output_of, constant}, found.data(), stride);
        store_panel_reference(panel.data(), rows, {output_of, constant}, expected.data(), stride);
        ASSERT_EQ(found, expected) << outputs << " outputs of " << rows << " rows";
      }
    }
  });
}

TEST(StorePanel, IsRightByHand) {
  std::vector<float> panel(2 * kLanes);
  for (std::size_t b = 0; b < kLanes; ++b) {
    panel[b] = b;
    panel[kLanes + b] = 100 + static_cast<float>(b);
  }
  const std::vector<Index> output_of{1, -1, 0};
  const std::vector<float> constant{0, 5, 0};
  std::vector<float> to(6);
  for_each_target([&] {
    store_panel(panel.data(), 2, {output_of, constant}, to.data(), 3);
    EXPECT_EQ(to, (std::vector<float>{100, 5, 0, 101, 5, 1}));
  });
}

}  // namespace
}  // namespace filigree::internal
