// SPDX-License-Identifier: Apache-2.0
// Tests of softmax against its reference on every SIMD target.
#include "kernels/softmax.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/test_support.h"
#include "kernels/test_targets.h"

namespace filigree::internal {
namespace {

struct Result {
  std::vector<float> share, highest, log_sum;
  Result(std::size_t classes, std::size_t stride)
      : share(classes * stride, -7.0f), highest(stride, -7.0f), log_sum(stride, -7.0f) {}
};

Result fast(std::size_t classes, std::size_t stride, const std::vector<float>& y) {
  Result r(classes, stride);
  softmax(classes, stride, y.data(), r.share.data(), r.highest.data(), r.log_sum.data());
  return r;
}

Result reference(std::size_t classes, std::size_t stride, const std::vector<float>& y) {
  Result r(classes, stride);
  softmax_reference(classes, stride, y.data(), r.share.data(), r.highest.data(), r.log_sum.data());
  return r;
}

// The sum of `classes` powers errs by that many roundings besides the 1e-6 of exp and log.
testing::AssertionResult agrees(std::size_t classes, std::size_t stride, const std::vector<float>& y) {
  const Result actual = fast(classes, stride, y);
  const Result expected = reference(classes, stride, y);
  const double epsilon = double{std::numeric_limits<float>::epsilon()};
  const double error = 1e-6 + epsilon * classes;
  for (std::size_t i = 0; i < y.size(); ++i) {
    // y - highest is rounded before exp sees it: an error of half an ulp of the difference, relative.
    const double difference = std::fabs(double{y[i]} - expected.highest[i % stride]);
    const double bound = (error + epsilon * std::min(difference, 110.0)) * expected.share[i] + 1e-37;
    if (!(std::fabs(double{actual.share[i]} - expected.share[i]) <= bound))
      return testing::AssertionFailure() << "share " << i << " of " << y[i] << " is " << actual.share[i]
                                         << " instead of " << expected.share[i];
  }
  if (actual.highest != expected.highest) return testing::AssertionFailure() << "highest differ";
  for (std::size_t b = 0; b < stride; ++b) {
    const double bound = error + epsilon * std::fabs(expected.log_sum[b]);
    if (!(std::fabs(double{actual.log_sum[b]} - expected.log_sum[b]) <= bound))
      return testing::AssertionFailure()
             << "log_sum " << b << " is " << actual.log_sum[b] << " instead of " << expected.log_sum[b];
  }
  return testing::AssertionSuccess();
}

TEST(Softmax, IsRightByHand) {
  std::vector<float> y(3 * 32, 0.0f);
  y[0] = std::log(2.0f);  // shares 2 : 1 : 1
  for_each_target([&] {
    const Result r = fast(3, 32, y);
    EXPECT_NEAR(r.share[0], 0.5, 1e-6);
    EXPECT_NEAR(r.share[32], 0.25, 1e-6);
    EXPECT_NEAR(r.share[64], 0.25, 1e-6);
    EXPECT_NEAR(r.log_sum[0], std::log(4.0), 1e-6);
    EXPECT_EQ(r.highest[0], y[0]);
    EXPECT_NEAR(r.share[1], 1.0 / 3, 1e-6);
  });
}

TEST(Softmax, AgreesWithTheReferenceForEveryNumberOfClasses) {
  for_each_target([] {
    for (std::size_t classes = 1; classes <= 40; ++classes)
      for (const std::size_t stride : {32, 64, 96})
        for (const float spread : {0.1f, 3.0f, 50.0f}) {
          auto y = random_dense(classes * stride, classes);
          for (float& value : y) value *= spread;
          EXPECT_TRUE(agrees(classes, stride, y)) << classes << " " << stride << " " << spread;
        }
  });
}

TEST(Softmax, TakesLogitsOfAnyFiniteSize) {
  constexpr float kMost = std::numeric_limits<float>::max();
  std::vector<float> y(2 * 32, 0.0f);
  y[0] = kMost;
  y[32] = -kMost;
  y[1] = y[33] = kMost;
  y[2] = y[34] = -kMost;
  y[3] = 1e30f;
  for_each_target([&] {
    const Result r = fast(2, 32, y);
    EXPECT_EQ(r.share[0], 1.0f);
    EXPECT_EQ(r.share[32], 0.0f);
    EXPECT_EQ(r.log_sum[0], kMost);
    for (const std::size_t b : {1, 2, 4}) EXPECT_NEAR(r.share[b], 0.5, 1e-6) << b;
    EXPECT_EQ(r.share[3], 1.0f);
    for (const float value : r.share) EXPECT_TRUE(std::isfinite(value));
    for (const float value : r.log_sum) EXPECT_TRUE(std::isfinite(value));
  });
}

TEST(Softmax, LosesNoLogitThatIsNotANumber) {
  for (const float odd : {kNan, kInfinity}) {
    for (std::size_t c = 0; c < 5; ++c) {
      auto y = random_dense(5 * 64, 4);
      y[c * 64 + 37] = odd;
      for_each_target([&] {
        const Result r = fast(5, 64, y);
        for (std::size_t b = 0; b < 64; ++b) EXPECT_EQ(std::isnan(r.log_sum[b]), b == 37) << b;
        EXPECT_TRUE(std::isnan(r.share[c * 64 + 37]));
      });
      EXPECT_TRUE(std::isnan(reference(5, 64, y).log_sum[37]));
    }
  }
}

TEST(Softmax, SharesAddUpToOne) {
  const auto y = random_dense(10 * 64, 3);
  for_each_target([&] {
    const Result r = fast(10, 64, y);
    for (std::size_t b = 0; b < 64; ++b) {
      double sum = 0;
      for (std::size_t c = 0; c < 10; ++c) sum += r.share[c * 64 + b];
      EXPECT_NEAR(sum, 1, 2e-6);
    }
  });
}

}  // namespace
}  // namespace filigree::internal
