// SPDX-License-Identifier: Apache-2.0
// Two rows are transformed as one complex row, because stretching is linear: z = row + i · next row. Of the
// padded spectrum only 28·count frequencies are not zero, so the long inverse transform is done in phases.
// With phases = side / 4 and length = 4·count, output q + phases·m is
//   Σ_b e^(2πi·b·m/length) · e^(2πi·b·q/wide) · Σ_a Z[b + length·a] · e^(2πi·a·q/phases),   a = -4 … 3,
// one transform of `length` per phase, which stays in the caches: half of the time of a transform of
// side·count.
#include "data/stretch_rows.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <kissfft/kissfft.hh>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "data/watched_loop.h"

namespace filigree::internal {

namespace {

using Complex = std::complex<double>;
using Transform = kissfft<double>;

constexpr std::size_t kPixels = kPictureRows * kPictureRows;
constexpr std::size_t kFolds = 7;            // 28·count = 7 · length
constexpr std::size_t kTogether = 8;         // phases written at once: a cache line of each row
constexpr std::size_t kLargestPrime = 4096;  // kissfft's time grows with it; MNIST's 60,000 has 5

Complex turn(double turns) {
  const double angle = 2 * std::numbers::pi * turns;
  return {std::cos(angle), std::sin(angle)};
}

// Written out: std::complex's product looks for infinities.
Complex product(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

std::size_t largest_prime_factor(std::size_t number) {
  std::size_t largest = 1;
  for (std::size_t p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) largest = p;
  }
  return std::max(largest, number);
}

// Stretches pairs of rows. Each thread has its own, transforms included: kissfft's hold scratch memory.
class PairStretcher {
 public:
  PairStretcher(std::size_t count, std::size_t side, const Transform& forward, const Transform& backward)
      : length_(4 * count),
        phases_(side / 4),
        forward_(forward),
        backward_(backward),
        row_(kFolds * length_),
        spectrum_(kFolds * length_),
        step_(length_),
        twiddle_(length_),
        folded_(length_),
        together_(kTogether * length_) {
    for (std::size_t b = 0; b < length_; ++b) step_[b] = turn(static_cast<double>(b) / (length_ * phases_));
  }

  // Rows r and r + 1.
  void stretch(std::span<const std::uint8_t> pixels, std::size_t r, StretchedRows& rows) {
    transform_pixels(pixels, r);
    const Complex nyquist = spectrum_[row_.size() / 2];
    rows.nyquist[r] = nyquist.real();
    rows.nyquist[r + 1] = nyquist.imag();
    std::ranges::fill(twiddle_, Complex(1));
    for (std::size_t first = 0; first < phases_; first += kTogether) {
      const std::size_t count = std::min(kTogether, phases_ - first);
      for (std::size_t i = 0; i < count; ++i) {
        fold(first + i);
        backward_.transform(folded_.data(), together_.data() + i * length_);
        for (std::size_t b = 0; b < length_; ++b) twiddle_[b] = product(twiddle_[b], step_[b]);
      }
      double* const here = rows.real.data() + r * rows.stride + first;
      for (std::size_t m = 0; m < length_; ++m) {
        for (std::size_t i = 0; i < count; ++i) {
          here[m * phases_ + i] = together_[i * length_ + m].real();
          here[rows.stride + m * phases_ + i] = together_[i * length_ + m].imag();
        }
      }
    }
  }

 private:
  void transform_pixels(std::span<const std::uint8_t> pixels, std::size_t r) {
    const double scale = 1 / static_cast<double>(row_.size());
    for (std::size_t i = 0; i < row_.size() / kPictureRows; ++i) {
      const std::uint8_t* const from = pixels.data() + i * kPixels + r * kPictureRows;
      for (std::size_t c = 0; c < kPictureRows; ++c)
        row_[i * kPictureRows + c] = {from[c] * scale, from[kPictureRows + c] * scale};
    }
    forward_.transform(row_.data(), spectrum_.data());
  }

  // The spectrum as phase q sees it. The frequency ±28·count/2 stands at both signs, half at each.
  void fold(std::size_t q) {
    std::array<Complex, kFolds + 1> turns;  // a = -4 … 3
    for (std::size_t a = 0; a <= kFolds; ++a) turns[a] = turn((static_cast<double>(a) - 4) * q / phases_);
    const Complex* const zero = spectrum_.data();                            // a >= 0
    const Complex* const below = spectrum_.data() + (kFolds - 4) * length_;  // a = -4
    const std::size_t half = length_ / 2;
    for (std::size_t b = 0; b < length_; ++b) {
      Complex sum = product(zero[b], turns[4]);
      for (std::size_t a = 1; a < 4; ++a) sum += product(below[a * length_ + b], turns[a]);
      for (std::size_t a = 1; a < 3; ++a) sum += product(zero[a * length_ + b], turns[4 + a]);
      const double low = b < half ? 0.0 : b == half ? 0.5 : 1.0;
      if (low > 0) sum += low * product(below[b], turns[0]);
      if (low < 1) sum += (1 - low) * product(zero[3 * length_ + b], turns[kFolds]);
      folded_[b] = product(sum, twiddle_[b]);
    }
  }

  std::size_t length_, phases_;
  Transform forward_, backward_;
  std::vector<Complex> row_, spectrum_;
  std::vector<Complex> step_, twiddle_;  // e^(2πi·b/wide), and its power q
  std::vector<Complex> folded_, together_;
};

}  // namespace

StretchedRows stretch_rows(std::span<const std::uint8_t> pixels, std::size_t count, std::size_t side,
                           const Observer& observer) {
  if (const std::size_t prime = largest_prime_factor(count); prime > kLargestPrime)
    fail(
        "challenge images are made of all images of a file at once, and {} images have the prime factor {}: "
        "the transform would take too long; use another number of images (MNIST has 60,000)",
        count, prime);
  const std::size_t wide = side * count;
  StretchedRows rows;
  rows.stride =
      (wide + 2 + 15) / 16 * 16;  // not a power of two: the 28 rows stay out of each other's cache sets
  rows.real = Buffer<double>(kPictureRows * rows.stride);
  const Transform forward(kPictureRows * count, false);
  const Transform backward(4 * count, true);
  watched_loop(observer, "images: stretching rows", kPictureRows / 2, threads(), 1,
               [&](std::size_t begin, std::size_t end) {
                 PairStretcher stretcher(count, side, forward, backward);
                 for (std::size_t pair = begin; pair < end; ++pair) stretcher.stretch(pixels, 2 * pair, rows);
               });
  return rows;
}

}  // namespace filigree::internal
