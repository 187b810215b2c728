// SPDX-License-Identifier: Apache-2.0
// Tests of dropout: the reference's bits on every SIMD target, and the statistics of what drops out.
#include "kernels/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

constexpr std::uint32_t kKeys[] = {0, 1, 0x80000000u, 0xdeadbeefu, 0xffffffffu};

std::vector<float> fast(std::uint32_t key, double rate, std::vector<float> x) {
  drop_out(key, rate, x.data(), x.size());
  return x;
}

std::vector<float> reference(std::uint32_t key, double rate, std::vector<float> x) {
  drop_out_reference(key, rate, x.data(), x.size());
  return x;
}

// 1 where a place drops out.
std::vector<int> mask(std::uint32_t key, double rate, std::size_t size) {
  const auto x = fast(key, rate, std::vector<float>(size, 1.0f));
  std::vector<int> dropped;
  for (const float value : x) dropped.push_back(value == 0);
  return dropped;
}

// Is a count of `size` independent events within 5 standard deviations of what its probability says?
testing::AssertionResult plausible(std::int64_t count, double probability, double size) {
  const double deviation = std::sqrt(size * probability * (1 - probability));
  if (std::fabs(count - size * probability) <= 5 * deviation) return testing::AssertionSuccess();
  return testing::AssertionFailure() << count << " of " << size << ", but the probability is " << probability;
}

TEST(DropOut, GivesTheBitsOfTheReference) {
  for_each_target([] {
    for (const std::size_t size : {0, 32, 64, 96, 160, 1024, 4096}) {
      const auto x = random_dense(size, size);
      for (const std::uint32_t key : kKeys)
        for (const double rate : {0.0, 0.1, 0.3, 0.5, 0.999, 1.0})
          EXPECT_EQ(bits(fast(key, rate, x)), bits(reference(key, rate, x))) << size << " " << rate;
    }
  });
}

TEST(DropOut, TouchesNothingBehindTheCount) {
  for_each_target([] {
    std::vector<float> x(128, 1.0f);
    drop_out(5, 0.9, x.data(), 64);
    EXPECT_EQ(std::count(x.begin() + 64, x.end(), 1.0f), 64);
  });
}

TEST(DropOut, KeepsAllAtRateZeroAndNothingAtRateOne) {
  const auto x = random_dense(256, 1);
  EXPECT_EQ(fast(3, 0, x), x);
  EXPECT_EQ(fast(3, 1, x), std::vector<float>(256, 0.0f));
}

TEST(DropOut, DividesWhatIsKeptByTheShareKept) {
  const auto x = random_dense(1024, 2);
  const auto y = fast(7, 0.25, x);  // 1 / 0.75 of a rate that 65536ths hold
  for (std::size_t i = 0; i < x.size(); ++i)
    if (y[i] != 0) {
      EXPECT_NEAR(y[i], x[i] / 0.75, 1e-6) << i;
    }
}

TEST(DropOut, DropsTheShareAskedFor) {
  constexpr std::size_t kSize = 1 << 18;
  for (const double rate : {0.001, 0.1, 0.5, 0.8})
    for (const std::uint32_t key : kKeys) {
      const auto dropped = mask(key, rate, kSize);
      EXPECT_TRUE(plausible(std::count(dropped.begin(), dropped.end(), 1), rate, kSize)) << key;
    }
}

TEST(DropOut, DropsEachPlaceOfAPanelAsOftenAsTheOthers) {
  constexpr std::size_t kRounds = 1 << 13;
  const auto dropped = mask(11, 0.3, 32 * kRounds);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::int64_t count = 0;
    for (std::size_t i = lane; i < dropped.size(); i += 32) count += dropped[i];
    EXPECT_TRUE(plausible(count, 0.3, kRounds)) << lane;
  }
}

TEST(DropOut, DrawsIndependentlyForOtherKeysAndForPlacesThatShareANumber) {
  constexpr std::size_t kSize = 1 << 16;
  const auto a = mask(0x12345678u, 0.4, kSize);
  const auto b = mask(0x9abcdef0u, 0.4, kSize);
  EXPECT_NE(a, b);
  std::int64_t both = 0, halves = 0;
  for (std::size_t i = 0; i < kSize; ++i) {
    both += a[i] * b[i];
    if (i % 32 < 16) halves += a[i] * a[i + 16];
  }
  EXPECT_TRUE(plausible(both, 0.16, kSize));
  EXPECT_TRUE(plausible(halves, 0.16, kSize / 2.0));
}

TEST(DropOut, MakesZeroOfNanThatDropsOutAndKeepsTheRest) {
  for_each_target([] {
    const auto y = fast(9, 0.5, std::vector<float>(64, kNan));
    const auto dropped = mask(9, 0.5, 64);
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), dropped[i] == 0) << i;
  });
}

}  // namespace
}  // namespace filigree::internal
