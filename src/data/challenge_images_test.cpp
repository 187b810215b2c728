// SPDX-License-Identifier: Apache-2.0
// The challenge's images: against the definition on tiny inputs, against the official files on MNIST.
#include "data/challenge_images.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/test_threads.h"

namespace filigree::internal {
namespace {

using Complex = std::complex<double>;

std::vector<std::uint8_t> random_images(Index count, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count) * 28 * 28);
  for (auto& p : pixels) p = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

// The recipe's stretch of one line by its definition: y[n] = 1/N Σ x̂[k] e^(2πikn/M), -N/2 <= k < N/2.
std::vector<Complex> stretch(const std::vector<Complex>& x, int wide) {
  const int narrow = x.size();
  const auto root = [](int k, int n, int length) {  // e^(2πikn/length), k reduced for accuracy
    return std::polar(1.0, 2 * std::numbers::pi * ((k * n) % length) / length);
  };
  std::vector<Complex> y(wide);
  for (int k = -narrow / 2; k < narrow / 2; ++k) {
    Complex bin = 0;
    for (int n = 0; n < narrow; ++n) bin += x[n] * root(-k, n, narrow);
    bin /= narrow;
    for (int n = 0; n < wide; ++n) y[n] += bin * root(k, n, wide);
  }
  return y;
}

// The magnitudes of the whole enlarged picture, side rows of side·count.
std::vector<std::vector<double>> enlarged(const std::vector<std::uint8_t>& pixels, std::size_t count,
                                          std::size_t side) {
  std::vector<std::vector<Complex>> rows;
  for (std::size_t r = 0; r < 28; ++r) {
    std::vector<Complex> row(28 * count);
    for (std::size_t n = 0; n < row.size(); ++n) row[n] = pixels[(n / 28 * 28 + r) * 28 + n % 28];
    rows.push_back(stretch(row, side * count));
  }
  std::vector<std::vector<double>> magnitude(side, std::vector<double>(side * count));
  for (std::size_t n = 0; n < side * count; ++n) {
    std::vector<Complex> column(28);
    for (std::size_t r = 0; r < 28; ++r) column[r] = rows[r][n];
    const auto tall = stretch(column, side);
    for (std::size_t p = 0; p < side; ++p) magnitude[p][n] = std::abs(tall[p]);
  }
  return magnitude;
}

void expect_equals_definition(const std::vector<std::uint8_t>& pixels, std::size_t side) {
  const std::size_t count = pixels.size() / (28 * 28);
  SCOPED_TRACE(testing::Message() << count << " images at side " << side);
  const Index images = count;
  const auto magnitude = enlarged(pixels, count, side);
  double brightest = 0;
  for (const auto& row : magnitude) brightest = std::max(brightest, std::ranges::max(row));

  const InputRows rows = challenge_images(pixels, images, side, images, {});
  ASSERT_EQ(rows.rows, images);
  ASSERT_EQ(rows.cols, static_cast<Index>(side * side));
  EXPECT_TRUE(rows.binary());
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::uint16_t> expected;
    for (std::size_t k = 0; k < side * side; ++k) {
      const double value = magnitude[k % side][i * side + k / side];
      ASSERT_GT(std::abs(value - brightest / 2), 1e-9) << "this seed has a tie: choose another";
      if (value > brightest / 2) expected.push_back(static_cast<std::uint16_t>(k));
    }
    EXPECT_TRUE(std::ranges::equal(rows.row_columns(i), expected)) << "image " << i;
  }
}

TEST(ChallengeImages, EqualTheDefinitionOnRandomImages) {
  for (Index count = 1; count <= 5; ++count) {
    expect_equals_definition(random_images(count, count), 32);
  }
  expect_equals_definition(random_images(3, 6), 64);
  expect_equals_definition(random_images(1, 7), 128);
  expect_equals_definition(random_images(1, 8), 256);
}

// Lone dots leave most columns dark, and make a column hardly brighter than it must be for one pixel.
TEST(ChallengeImages, EqualTheDefinitionOnLoneDots) {
  auto pixels = random_images(4, 9);
  for (std::size_t p = 0; p < pixels.size(); ++p) {
    if (p % 61 != 0) pixels[p] = 0;
  }
  expect_equals_definition(pixels, 32);
  expect_equals_definition(pixels, 64);
}

TEST(ChallengeImages, KeepsTheFirstImagesButMeasuresAll) {
  auto pixels = random_images(40, 8);
  for (std::size_t p = 0; p < 39 * 28 * 28; ++p) pixels[p] /= 2;  // the last image has the maximum
  const InputRows all = challenge_images(pixels, 40, 32, 40, {});
  const InputRows some = challenge_images(pixels, 40, 32, 30, {});
  ASSERT_EQ(some.rows, 30);
  ASSERT_GT(some.nnz(), 0);
  for (Index i = 0; i < some.rows; ++i) {
    EXPECT_TRUE(std::ranges::equal(some.row_columns(i), all.row_columns(i))) << "image " << i;
  }
  EXPECT_EQ(challenge_images(pixels, 40, 32, 0, {}).nnz(), 0);
}

TEST(ChallengeImages, AreTheSameForAnyNumberOfThreads) {
  const auto pixels = random_images(100, 5);
  const int before = threads();
  set_threads(1);
  const InputRows one = challenge_images(pixels, 100, 64, 100, {});
  set_threads(2);
  const InputRows two = challenge_images(pixels, 100, 64, 100, {});
  set_threads(before);
  EXPECT_EQ(one.row_begin, two.row_begin);
  EXPECT_TRUE(std::equal(one.column.begin(), one.column.begin() + one.nnz(), two.column.begin()));
}

TEST(ChallengeImages, BlackImagesGiveEmptyRows) {
  const std::vector<std::uint8_t> pixels(28 * 28 * 3);
  EXPECT_EQ(challenge_images(pixels, 3, 32, 3, {}).row_begin, (std::vector<Offset>{0, 0, 0, 0}));
}

TEST(ChallengeImages, RefuseWrongSizes) {
  const auto pixels = random_images(2, 1);
  EXPECT_THROW(challenge_images(pixels, 2, 48, 2, {}), Error);
  EXPECT_THROW(challenge_images(pixels, 3, 32, 2, {}), Error);
  EXPECT_THROW(challenge_images(pixels, 2, 32, 3, {}), Error);
  EXPECT_THROW(challenge_images(pixels, 2, 32, -1, {}), Error);
  EXPECT_THROW(challenge_images({}, 0, 32, 0, {}), Error);
}

TEST(ChallengeImages, StopWhenAsked) {
  const auto pixels = random_images(2, 1);
  std::stop_source source;
  const Observer observer{.progress = [&](const Progress&) { source.request_stop(); },
                          .stop = source.get_token()};
  EXPECT_THROW(challenge_images(pixels, 2, 32, 2, observer), Cancelled);
}

std::vector<std::uint8_t> gunzipped(const std::filesystem::path& path) {
  std::vector<std::uint8_t> bytes;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return bytes;
  std::vector<std::uint8_t> block(1 << 20);
  for (int n = 0; (n = gzread(file, block.data(), block.size())) > 0;) {
    bytes.insert(bytes.end(), block.begin(), block.begin() + n);
  }
  gzclose(file);
  return bytes;
}

class OfficialImages : public testing::TestWithParam<Index> {};

TEST_P(OfficialImages, AreReproducedBitForBit) {
  const char* folder = std::getenv("FILIGREE_DATA");  // NOLINT(concurrency-mt-unsafe)
  if (folder == nullptr) GTEST_SKIP() << "FILIGREE_DATA names no folder with mnist/ and graph-challenge/";
  const std::filesystem::path data(folder);
  const Index side = GetParam();
  const auto idx = gunzipped(data / "mnist/train-images-idx3-ubyte.gz");
  const auto bits =
      gunzipped(data / "graph-challenge" / ("sparse-images-" + std::to_string(side * side) + ".bits.gz"));
  constexpr std::size_t kHeader = 16;
  constexpr std::size_t kCount = 60000;
  ASSERT_EQ(idx.size(), kHeader + kCount * 28 * 28);
  ASSERT_EQ(bits.size(), kCount * static_cast<std::size_t>(side * side) / 8);

  const InputRows images = challenge_images(std::span(idx).subspan(kHeader), kCount, side, kCount, {});
  std::vector<std::uint8_t> packed(bits.size());
  for (Index i = 0; i < images.rows; ++i) {
    std::uint8_t* image = packed.data() + static_cast<std::size_t>(i) * (side * side) / 8;
    for (const unsigned k : images.row_columns(i))
      image[k / 8] |= static_cast<std::uint8_t>(0x80u >> (k % 8));
  }
  EXPECT_TRUE(packed == bits);
  EXPECT_EQ(images.nnz(), side == 32 ? 6374505 : 25019051);
}

INSTANTIATE_TEST_SUITE_P(Sides, OfficialImages, testing::Values(32, 64));

}  // namespace
}  // namespace filigree::internal
