// SPDX-License-Identifier: Apache-2.0
// Tests of fast numbers against std::from_chars.
#include "io/number_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <string>

#include "base/random.h"

namespace filigree::internal {
namespace {

// The same end and bits as from_chars, wherever the fast scanner answers at all.
template <typename T, typename Scan>
bool agrees(const std::string& text, const Scan& scan) {
  T fast = 0, slow = 0;
  const char* const end = text.data() + text.size();
  const char* const stop = scan(text.data(), end, fast);
  if (stop == nullptr) return false;
  const auto [slow_stop, status] = std::from_chars(text.data(), end, slow);
  EXPECT_EQ(status, std::errc()) << text;
  EXPECT_EQ(stop, slow_stop) << text;
  EXPECT_TRUE(fast == slow && std::signbit(fast) == std::signbit(slow)) << text << ": " << fast;
  return true;
}
bool float_agrees(const std::string& text) {
  return agrees<float>(text, scan_float);
}
bool double_agrees(const std::string& text) {
  return agrees<double>(text, scan_double);
}

TEST(NumberScan, TakesEverydayNumbersAsFromCharsDoes) {
  for (const char* text :
       {"0", "-0", "7", "1.5", "-2.25", "123456789", "0.869293212890625000", "1.000000000000000000e+00", ".5",
        "5.", "1e3", "1E-3", "1.5e9,", "12;", "0.1", "-1e22"}) {
    EXPECT_TRUE(float_agrees(text)) << text;
  }
  for (const char* text : {"0", "-0", "0.1", "123456789.25", "1e22", "9007199254740991", "1e-22"})
    EXPECT_TRUE(double_agrees(text)) << text;
}

TEST(NumberScan, LeavesTheRestToTheCarefulParser) {
  for (const char* text : {"", "-", ".", "e5", "nan", "inf", "+1", "1e", "1e+", "12345678901234567890",
                           "1e39", "1e-46", "16777217.0000000000", "1e999999"}) {
    float value = 0;
    const std::string copy = text;
    const bool answered = scan_float(copy.data(), copy.data() + copy.size(), value) != nullptr;
    EXPECT_EQ(answered, answered && float_agrees(text)) << text;
  }
  EXPECT_FALSE(float_agrees("1e39"));
  EXPECT_FALSE(float_agrees("nan"));
  EXPECT_FALSE(double_agrees("9007199254740993"));
}

TEST(NumberScan, AgreesOnRandomNumbersAndOnTheMiddlesBetweenFloats) {
  Random random(1, 2);
  int answered = 0;
  for (int i = 0; i < 200'000; ++i) {
    const int exponent = static_cast<int>(random.below(120)) - 60;
    const auto value = static_cast<float>(std::ldexp(random.uniform(-2, 2), exponent));
    const double middle = (double{value} + std::nextafter(value, 1e30F)) / 2;
    for (const std::string& text :
         {fmt::format("{}", value), fmt::format("{:.9g}", value), fmt::format("{:.17g}", double{value}),
          fmt::format("{:.18e}", double{value}), fmt::format("{:.6f}", std::fmod(value, 1000.0F)),
          fmt::format("{:.17g}", middle), fmt::format("{:.19g}", middle)}) {
      answered += float_agrees(text) ? 1 : 0;
      double_agrees(text);
    }
  }
  EXPECT_GT(answered, 100'000);
}

}  // namespace
}  // namespace filigree::internal
