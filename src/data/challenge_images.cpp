// SPDX-License-Identifier: Apache-2.0
// The challenge's enlargement of MNIST, as two one-dimensional steps instead of one huge 2-D transform.
//
// Padding a spectrum with zeros is linear and separable: picture → A · picture · Rᵀ, where R stretches rows
// (28·count → side·count) and A columns (28 → side). Both lengths are even and the recipe leaves the Nyquist
// term at the negative frequency alone, so each stretch is a real one plus an imaginary part of rank one:
//   R row     = real row + i · nyquist(row) · wave,       wave[j] = -sin(28πj / side), the same in each image
//   A column  = B column + i · wave/28 · alternate,       alternate[r] = (-1)^r
// Rows are stretched by FFT. Then each output column needs a 28 → side product with B and the two
// corrections; this is done twice, first for the maximum and again for the threshold, because storing would
// cost 9 times more.
#include "data/challenge_images.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "data/bit_images.h"
#include "data/stretch_rows.h"
#include "data/watched_loop.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kRows = kPictureRows;
constexpr std::size_t kPixels = kRows * kRows;
constexpr int kNyquist = kMnistSide / 2;
constexpr std::size_t kMaxSide = 256;
constexpr std::size_t kBatch = 1024;  // images between two looks at the stop token: at most a second
constexpr std::size_t kGrain = 16;

// Stretches columns of 28 to `side` and yields squared magnitudes.
class ColumnStretcher {
 public:
  ColumnStretcher(const StretchedRows& rows, std::size_t side)
      : rows_(rows), side_(side), real_(kRows * side), wave_(side), nyquist_(side) {
    constexpr double kPi = std::numbers::pi;
    for (std::size_t p = 0; p < side; ++p) {
      const double place = static_cast<double>(p * kRows) / side;  // in source pixels
      wave_[p] = -std::sin(kPi * place);
      for (std::size_t r = 0; r < kRows; ++r) {
        const double turn = 2 * kPi * (place - r) / kRows;
        double sum = 1 + std::cos(turn * kNyquist);
        for (int k = 1; k < kNyquist; ++k) sum += 2 * std::cos(turn * k);
        real_[r * side + p] = sum / kRows;
        nyquist_[p] += real_[r * side + p] * rows.nyquist[r];
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      nyquist_alternate_ += alternate(r) * rows.nyquist[r];
      nyquist_square_ += rows.nyquist[r] * rows.nyquist[r];
    }
  }

  // Calls visit(column, squares) for the columns of image i where a squared magnitude may exceed `floor()`.
  // The rows of A have norm 1 (Parseval), so no value of a column exceeds the norm of its 28 sources.
  template <typename Floor, typename Visit>
  void for_bright_columns(std::size_t i, const Floor& floor, const Visit& visit) const {
    constexpr double kRounding = 1 + 1e-9;  // far above the error of the norm, far below what costs time
    std::array<double, kMaxSide> squares;
    const double* image = rows_.real.data() + i * side_;
    std::array<double, kMaxSide> norm{};
    for (std::size_t r = 0; r < kRows; ++r) {
      const double* row = image + r * rows_.stride;
      for (std::size_t j = 0; j < side_; ++j) norm[j] += row[j] * row[j];
    }
    for (std::size_t j = 0; j < side_; ++j) {
      if ((norm[j] + nyquist_square_ * wave_[j] * wave_[j]) * kRounding <= floor()) continue;
      stretch(image, j, squares.data());
      visit(j, std::span<const double>(squares.data(), side_));
    }
  }

 private:
  static double alternate(std::size_t r) { return r % 2 == 0 ? 1.0 : -1.0; }

  void stretch(const double* image, std::size_t j, double* __restrict squares) const {
    std::array<double, kRows> source;
    double source_alternate = 0;
    for (std::size_t r = 0; r < kRows; ++r) {
      source[r] = image[r * rows_.stride + j];
      source_alternate += alternate(r) * source[r];
    }
    std::array<double, kMaxSide> sum{};
    constexpr std::size_t kUnroll = 4;  // four products a load and store of the sum; 28 = 7 * 4
    for (std::size_t r = 0; r < kRows; r += kUnroll) {
      const double* b = real_.data() + r * side_;
      for (std::size_t p = 0; p < side_; ++p) {
        sum[p] += b[p] * source[r] + b[side_ + p] * source[r + 1] + b[2 * side_ + p] * source[r + 2] +
                  b[3 * side_ + p] * source[r + 3];
      }
    }
    const double real_wave = -nyquist_alternate_ * wave_[j] / kRows;
    const double imaginary_wave = source_alternate / kRows;
    const double imaginary_nyquist = wave_[j];
    for (std::size_t p = 0; p < side_; ++p) {
      const double re = sum[p] + real_wave * wave_[p];
      const double im = imaginary_wave * wave_[p] + imaginary_nyquist * nyquist_[p];
      squares[p] = re * re + im * im;
    }
  }

  const StretchedRows& rows_;
  std::size_t side_;
  std::vector<double> real_;      // B, 28 × side: real_[r * side + p]
  std::vector<double> wave_;      // side
  std::vector<double> nyquist_;   // side: B · rows.nyquist
  double nyquist_alternate_ = 0;  // alternate · rows.nyquist
  double nyquist_square_ = 0;     // |rows.nyquist|²
};

double brightest_square(const ColumnStretcher& columns, std::size_t count, const Observer& observer) {
  std::atomic<double> brightest = 0;
  watched_loop(observer, "images: finding the maximum", count, kBatch, kGrain,
               [&](std::size_t begin, std::size_t end) {
                 double best = brightest.load();
                 for (std::size_t i = begin; i < end; ++i) {
                   columns.for_bright_columns(
                       i, [&] { return best; },
                       [&](std::size_t, std::span<const double> squares) {
                         for (const double square : squares) best = std::max(best, square);
                       });
                 }
                 double seen = brightest.load();
                 while (seen < best && !brightest.compare_exchange_weak(seen, best)) {
                 }
               });
  return brightest.load();
}

// The least square whose root is above half the root of `brightest`. The rounded root never decreases, so
// comparing squares with it decides as comparing roots would.
double least_square_above_half(double brightest) {
  const double half = std::sqrt(brightest) / 2;
  double square = brightest / 4;
  while (std::sqrt(square) <= half) square = std::nextafter(square, std::numeric_limits<double>::infinity());
  return square;
}

}  // namespace

InputRows challenge_images(std::span<const std::uint8_t> pixels, Index count, Index side, Index keep,
                           const Observer& observer) {
  if (side != 32 && side != 64 && side != 128 && side != 256) {
    fail("challenge images have side 32, 64, 128 or 256, not {}", side);
  }
  if (count < 1 || count > std::numeric_limits<int>::max() / side) {
    fail("challenge images of side {} can be made from 1 to {} images, not {}", side,
         std::numeric_limits<int>::max() / side, count);
  }
  if (keep < 0 || keep > count) fail("cannot keep {} images of {}", keep, count);
  const std::size_t images = count;
  if (pixels.size() != images * kPixels) {
    fail("{} images of 28x28 are {} pixels, but {} were given", count, images * kPixels, pixels.size());
  }

  const std::size_t width = side;
  BitImages bits(keep, side);
  {  // the stretched rows leave memory before the result enters it
    const StretchedRows rows = stretch_rows(pixels, images, width, observer);
    const ColumnStretcher columns(rows, width);
    const double threshold = least_square_above_half(brightest_square(columns, images, observer));
    const auto set_bits = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto words = bits.image(i);
        columns.for_bright_columns(
            i, [&] { return threshold; },
            [&](std::size_t j, std::span<const double> squares) {
              for (std::size_t p = 0; p < width; p += 32) {
                std::uint32_t word = 0;
                for (std::size_t b = 0; b < 32; ++b) {
                  word |= static_cast<std::uint32_t>(squares[p + b] >= threshold) << b;
                }
                words[(j * width + p) / 32] = word;
              }
            });
      }
    };
    watched_loop(observer, "images: thresholding", keep, kBatch, kGrain, set_bits);
  }
  return rows_of(bits);
}

}  // namespace filigree::internal
