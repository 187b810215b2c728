// SPDX-License-Identifier: Apache-2.0
// The embedded digits: the same everywhere, readable in number and weight, as dense as MNIST.
#include "data/digits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/parallel.h"
#include "base/test_threads.h"

namespace filigree::internal {
namespace {

std::vector<std::uint16_t> all_columns(const InputRows& rows) {
  return {rows.column.begin(), rows.column.begin() + rows.nnz()};
}

TEST(Digits, AreTheSameForAnyNumberOfThreads) {
  const int before = threads();
  set_threads(1);
  const InputRows one = digit_images(1500, 32, 7, {});
  set_threads(2);
  const InputRows two = digit_images(1500, 32, 7, {});
  set_threads(before);
  EXPECT_EQ(one.row_begin, two.row_begin);
  EXPECT_EQ(all_columns(one), all_columns(two));
}

TEST(Digits, AnImageDependsOnItsNumberAndNotOnHowManyAreDrawn) {
  const InputRows few = digit_images(10, 32, 7, {});
  const InputRows many = digit_images(100, 32, 7, {});
  for (Index i = 0; i < few.rows; ++i) {
    EXPECT_TRUE(std::ranges::equal(few.row_columns(i), many.row_columns(i))) << "image " << i;
  }
}

TEST(Digits, DifferentSeedsDrawDifferentDigits) {
  const InputRows one = digit_images(100, 32, 1, {});
  const InputRows two = digit_images(100, 32, 2, {});
  for (Index i = 0; i < one.rows; ++i) {
    EXPECT_FALSE(std::ranges::equal(one.row_columns(i), two.row_columns(i))) << "image " << i;
  }
}

TEST(Digits, RowsAreSoundAndNeverEmpty) {
  for (const Index side : {28, 32, 64}) {
    const InputRows rows = digit_images(2000, side, 11, {});
    ASSERT_EQ(rows.rows, 2000);
    ASSERT_EQ(rows.cols, side * side);
    ASSERT_EQ(rows.row_begin.size(), 2001u);
    EXPECT_TRUE(rows.binary());
    for (Index i = 0; i < rows.rows; ++i) {
      const auto columns = rows.row_columns(i);
      ASSERT_FALSE(columns.empty()) << "image " << i << " of side " << side;
      EXPECT_LT(columns.back(), rows.cols);
      EXPECT_TRUE(std::ranges::is_sorted(columns, std::ranges::less_equal{})) << "image " << i;
    }
  }
}

// MNIST thresholded to 32×32 has 106.2 pixels an image with a standard deviation of 41.1 (10.4 % and 4.0 %).
TEST(Digits, AreAboutAsDenseAsMnistAtEverySide) {
  for (const Index side : {32, 64, 128}) {
    const InputRows rows = digit_images(3000, side, 3, {});
    double sum = 0;
    double squares = 0;
    for (Index i = 0; i < rows.rows; ++i) {
      const double share = static_cast<double>(rows.row_columns(i).size()) / (side * side);
      sum += share;
      squares += share * share;
    }
    const double mean = sum / rows.rows;
    EXPECT_NEAR(mean, 0.104, 0.008) << "side " << side;
    EXPECT_NEAR(std::sqrt(squares / rows.rows - mean * mean), 0.040, 0.006) << "side " << side;
  }
}

TEST(Digits, EveryLabelOccursAboutEquallyOften) {
  std::vector<int> times(10);
  for (Index i = 0; i < 10000; ++i) ++times.at(digit_label(5, i));
  for (const int n : times) EXPECT_NEAR(n, 1000, 150);  // five standard deviations of a fair draw
}

// Ones are single strokes and eights are two loops: the label must be that of the drawing.
TEST(Digits, LabelsBelongToTheirDrawings) {
  const InputRows rows = digit_images(2000, 32, 9, {});
  double ones = 0;
  double eights = 0;
  int one_count = 0;
  int eight_count = 0;
  for (Index i = 0; i < rows.rows; ++i) {
    const double pixels = rows.row_columns(i).size();
    if (digit_label(9, i) == 1) ones += pixels, ++one_count;
    if (digit_label(9, i) == 8) eights += pixels, ++eight_count;
  }
  EXPECT_GT(eights / eight_count, 1.7 * ones / one_count);
}

TEST(Digits, PixelsAreGreysAboveOneHalfColumnByColumn) {
  constexpr Index kSide = 32;
  const InputRows rows = digit_images(5, kSide, 4, {});
  std::vector<float> grey(kSide * kSide);
  for (Index i = 0; i < rows.rows; ++i) {
    draw_digit(4, i, kSide, grey);
    std::vector<std::uint16_t> expected;
    for (std::size_t column = 0; column < kSide; ++column) {
      for (std::size_t row = 0; row < kSide; ++row) {
        const float g = grey[row * kSide + column];
        EXPECT_TRUE(0 <= g && g <= 1);
        if (g > 0.5f) expected.push_back(static_cast<std::uint16_t>(column * kSide + row));
      }
    }
    EXPECT_TRUE(std::ranges::equal(rows.row_columns(i), expected)) << "image " << i;
  }
}

TEST(Digits, AreTallerThanWideWhenTheyAreOnes) {  // a transposed drawing would lie down
  constexpr Index kSide = 32;
  const InputRows rows = digit_images(500, kSide, 6, {});
  for (Index i = 0; i < rows.rows; ++i) {
    if (digit_label(6, i) != 1) continue;
    std::set<int> image_columns;
    std::set<int> image_rows;
    for (const int k : rows.row_columns(i)) {
      image_columns.insert(k / kSide);
      image_rows.insert(k % kSide);
    }
    EXPECT_GT(image_rows.size(), image_columns.size()) << "image " << i;
  }
}

TEST(Digits, RefuseWrongSizes) {
  std::vector<float> grey(100);
  EXPECT_THROW(digit_images(1, 7, 0, {}), Error);
  EXPECT_THROW(digit_images(1, 257, 0, {}), Error);
  EXPECT_THROW(digit_images(-1, 32, 0, {}), Error);
  EXPECT_THROW(draw_digit(0, 0, 11, grey), Error);
  EXPECT_EQ(digit_images(0, 32, 0, {}).nnz(), 0);
}

TEST(Digits, StopWhenAsked) {
  std::stop_source source;
  source.request_stop();
  const Observer observer{.stop = source.get_token()};
  EXPECT_THROW(digit_images(10, 32, 0, observer), Cancelled);
}

}  // namespace
}  // namespace filigree::internal
