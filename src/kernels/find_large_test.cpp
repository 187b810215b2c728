// SPDX-License-Identifier: Apache-2.0
// Tests of find_large against its reference on every SIMD target.
#include "kernels/find_large.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

using Places = std::vector<std::uint32_t>;
Places found_by(decltype(find_large)* find, const std::vector<float>& values, float bound) {
  Places places(values.size() + kFindPadding, 0);
  places.resize(find(values, bound, places.data()));
  return places;
}

TEST(FindLarge, TakesMagnitudesFromTheBoundOn) {
  for_each_target([] {
    EXPECT_EQ(found_by(find_large, {1, -2, 1.5f, kNan, -1.5f, 0, kInfinity}, 1.5f), (Places{1, 2, 4, 6}));
    EXPECT_EQ(found_by(find_large, {0, -0.0f, kNan}, 0), (Places{0, 1}));
    EXPECT_EQ(found_by(find_large, {}, 0), Places());
  });
}

TEST(FindLarge, AgreesWithTheReferenceForEveryLengthAndShare) {
  for_each_target([] {
    for (std::size_t count = 0; count <= 70; ++count)
      for (const float bound : {0.0f, 0.3f, 1.0f, 2.0f, 9.0f}) {
        const auto values = random_dense(count, count);
        EXPECT_EQ(found_by(find_large, values, bound), found_by(find_large_reference, values, bound))
            << count;
      }
  });
}

}  // namespace
}  // namespace filigree::internal
