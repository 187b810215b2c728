// SPDX-License-Identifier: Apache-2.0
// Tests of count_bits against its reference on every SIMD target.
#include "kernels/count_bits.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "base/buffer.h"
#include "base/random.h"
#include "kernels/packed.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

TEST(CountBits, AgreesWithTheReferenceForAnyGroups) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto columns = *rc::gen::inRange<std::size_t>(1, 100);
      const auto inputs = *rc::gen::inRange<std::size_t>(0, 20);
      Random random(*rc::gen::arbitrary<std::uint64_t>());
      std::vector<std::uint32_t> bits(columns);
      for (auto& b : bits) b = static_cast<std::uint32_t>(random.next() | random.next());
      std::vector<std::uint32_t> begin{0};
      std::vector<std::uint16_t> column;
      for (std::size_t n = 0; n < inputs; ++n) {
        for (std::uint64_t i = random.below(40); i > 0; --i)
          column.push_back(static_cast<std::uint16_t>(random.below(columns)));
        begin.push_back(static_cast<std::uint32_t>(column.size()));
      }
      Buffer<float> found(inputs * kPanelRows + 1), expected(found.size());
      count_bits(bits.data(), {begin, column}, found.data());
      count_bits_reference(bits.data(), {begin, column}, expected.data());
      for (std::size_t i = 0; i + 1 < found.size(); ++i) RC_ASSERT(found[i] == expected[i]);
    }));
  });
}

TEST(CountBits, CountsByHand) {
  const std::vector<std::uint32_t> bits{0b101, 0x80000001u};
  const std::vector<std::uint32_t> begin{0, 2, 2, 3};
  const std::vector<std::uint16_t> column{0, 1, 1};
  for_each_target([&] {
    Buffer<float> x(3 * kPanelRows);
    count_bits(bits.data(), {begin, column}, x.data());
    EXPECT_EQ(x[0], 2.0f);
    EXPECT_EQ(x[1], 0.0f);
    EXPECT_EQ(x[2], 1.0f);
    EXPECT_EQ(x[31], 1.0f);
    EXPECT_EQ(x[32], 0.0f);
    EXPECT_EQ(x[64], 1.0f);
    EXPECT_EQ(x[95], 1.0f);
  });
}

}  // namespace
}  // namespace filigree::internal
