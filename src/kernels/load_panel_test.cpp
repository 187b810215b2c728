// SPDX-License-Identifier: Apache-2.0
// Tests of load_panel against its reference, bit for bit, on every SIMD target.
#include "kernels/load_panel.h"

#include <gtest/gtest.h>

#include <numeric>

#include <algorithm>

#include "base/buffer.h"
#include "base/random.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

std::vector<Index> random_rows(std::size_t count, std::size_t of, std::uint64_t seed) {
  Random random(seed);
  std::vector<Index> rows(count);
  for (Index& row : rows) row = random.below(of);
  return rows;
}

// The panel's bits, and what lies behind it.
template <typename T>
testing::AssertionResult agrees(const std::vector<T>& data, std::size_t features,
                                const std::vector<Index>& rows, const InputScaling& scaling,
                                std::size_t stride) {
  const std::size_t size = features * stride;
  Buffer<float> found(size + 1), expected(size + 1);
  std::ranges::fill(found, -7.0f);
  std::ranges::fill(expected, -7.0f);
  load_panel(std::span<const T>(data), features, rows, scaling, stride, found.data());
  load_panel_reference(std::span<const T>(data), features, rows, scaling, stride, expected.data());
  const auto found_bits = bits(found), expected_bits = bits(expected);
  for (std::size_t i = 0; i <= size; ++i)
    if (found_bits[i] != expected_bits[i])
      return testing::AssertionFailure() << "feature " << i / stride << ", lane " << i % stride << " is "
                                         << found[i] << " instead of " << expected[i];
  return testing::AssertionSuccess();
}

constexpr std::size_t kDataRows = 11;

TEST(LoadPanel, IsRightByHand) {
  const std::vector<std::uint8_t> bytes{0, 1, 2, 253, 254, 255};  // two rows of three
  const std::vector<float> mean{1, 2, 3}, scale{2, 4, 0.5f};
  const std::vector<Index> rows{1, 0, 1};
  for_each_target([&] {
    Buffer<float> x(3 * 32);
    load_panel(bytes, 3, rows, {mean, scale}, 32, x.data());
    const std::vector<float> expected{504, -2, 504, 0, 1008, -4, 1008, 0, 126, -0.5f, 126, 0};
    for (std::size_t n = 0; n < 3; ++n)
      for (std::size_t b = 0; b < 4; ++b) EXPECT_EQ(x[n * 32 + b], expected[n * 4 + b]) << n << ' ' << b;
  });
}

TEST(LoadPanel, AgreesWithTheReferenceForEveryNumberOfFeatures) {
  for_each_target([] {
    for (std::size_t features = 0; features <= 70; ++features) {
      const auto mean = random_dense(features, 1), scale = random_dense(features, 2);
      const auto rows = random_rows(32, kDataRows, 3);
      EXPECT_TRUE(agrees(random_bytes(kDataRows * features, 4), features, rows, {mean, scale}, 32));
      EXPECT_TRUE(agrees(random_dense(kDataRows * features, 5), features, rows, {mean, scale}, 32));
    }
  });
}

TEST(LoadPanel, AgreesWithTheReferenceForEveryNumberOfRowsAndLeavesZerosBehindThem) {
  const auto mean = random_dense(1, 1), scale = random_dense(1, 2);
  for_each_target([&] {
    for (const std::size_t stride : {std::size_t{32}, std::size_t{64}, std::size_t{320}}) {
      for (std::size_t count = 0; count <= stride; count += stride == 320 ? 13 : 1) {
        const auto rows = random_rows(count, kDataRows, count);
        for (const std::size_t features : {std::size_t{5}, std::size_t{37}}) {
          EXPECT_TRUE(agrees(random_bytes(kDataRows * features, 4), features, rows, {mean, scale}, stride));
          EXPECT_TRUE(agrees(random_dense(kDataRows * features, 5), features, rows, {mean, scale}, stride));
        }
      }
    }
  });
}

TEST(LoadPanel, SkipsTheGapsBetweenRows) {
  for_each_target([] {
    for (const std::size_t features : {1u, 15u, 16u, 33u, 70u})
      for (const std::size_t gap : {1u, 16u, 21u}) {
        const std::size_t stride = features + gap, count = 19;
        std::vector<float> floats = random_dense(count * stride, features);
        std::vector<std::uint8_t> bytes;
        for (const float v : floats)
          bytes.push_back(static_cast<std::uint8_t>(static_cast<int>(100 * v) & 255));
        const std::vector<Index> rows{3, 18, 0, 7, 7};
        Buffer<float> found(features * 32), expected(features * 32);
        const auto same = [&] { return std::equal(found.begin(), found.end(), expected.begin()); };
        load_panel(std::span<const float>(floats), features, rows, {}, 32, found.data(), {}, stride);
        load_panel_reference(std::span<const float>(floats), features, rows, {}, 32, expected.data(), {},
                             stride);
        EXPECT_TRUE(same()) << features << " floats, gap " << gap;
        load_panel(std::span<const std::uint8_t>(bytes), features, rows, {}, 32, found.data(), {}, stride);
        load_panel_reference(std::span<const std::uint8_t>(bytes), features, rows, {}, 32, expected.data(),
                             {}, stride);
        EXPECT_TRUE(same()) << features << " bytes, gap " << gap;
        EXPECT_EQ(expected[0], static_cast<float>(bytes[3 * stride]));
      }
  });
}

TEST(LoadPanel, PutsFeaturesWhereTheyShallGo) {
  for_each_target([] {
    for (const std::size_t features : {5u, 16u, 40u, 70u})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        std::vector<Index> order(features), places(features, -1);
        std::iota(order.begin(), order.end(), 0);
        random.shuffle(std::span(order));
        std::size_t used = 0;
        for (std::size_t n = 0; n < features; ++n)  // the first blocks go nowhere now and then
          if (random.uniform() < 0.6 && !(seed % 3 == 0 && n < 32)) places[n] = order[used++];
        const auto rows = random_rows(1 + random.below(32), kDataRows, 3);
        const auto mean = random_dense(features, 1), scale = random_dense(1, 2);
        const auto compare = [&](const auto& data) {
          Buffer<float> found(features * 32), expected(features * 32);
          std::ranges::fill(found, -7.0f);
          std::ranges::fill(expected, -7.0f);
          load_panel(std::span(data), features, rows, {mean, scale}, 32, found.data(), places);
          load_panel_reference(std::span(data), features, rows, {mean, scale}, 32, expected.data(), places);
          EXPECT_EQ(bits(found), bits(expected)) << features << ' ' << seed;
        };
        compare(random_bytes(kDataRows * features, 4));
        compare(random_dense(kDataRows * features, 4));
      }
  });
}

TEST(LoadPanel, TakesOneMeanAndScaleOrOneEachOrNone) {
  constexpr std::size_t kFeatures = 45;
  const auto each = random_dense(kFeatures, 1), one = random_dense(1, 2);
  const std::vector<float> none;
  const auto rows = random_rows(20, kDataRows, 3);
  for_each_target([&] {
    for (const auto* mean : {&each, &one, &none}) {
      for (const auto* scale : {&each, &one, &none}) {
        EXPECT_TRUE(agrees(random_bytes(kDataRows * kFeatures, 4), kFeatures, rows, {*mean, *scale}, 32));
        EXPECT_TRUE(agrees(random_dense(kDataRows * kFeatures, 5), kFeatures, rows, {*mean, *scale}, 32));
      }
    }
  });
}

TEST(LoadPanel, KeepsEveryByteAndWhatIsNotFinite) {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::vector<float> floats = random_dense(20 * 16, 1);
  floats[3] = kInfinity;
  floats[40] = -kInfinity;
  floats[77] = -0.0f;
  floats[150] = 1e-42f;  // subnormal
  std::vector<Index> rows(16);
  for (std::size_t b = 0; b < 16; ++b) rows[b] = b;
  for_each_target([&] {
    EXPECT_TRUE(agrees(bytes, 16, rows, {}, 32));
    EXPECT_TRUE(agrees(floats, 20, rows, {}, 32));
    floats[19] = kNan;
    Buffer<float> x(20 * 32);
    load_panel(std::span<const float>(floats), 20, rows, {}, 32, x.data());
    EXPECT_TRUE(std::isnan(x[19 * 32]));
    floats[19] = 0;
  });
}

}  // namespace
}  // namespace filigree::internal
