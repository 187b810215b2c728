// SPDX-License-Identifier: Apache-2.0
// Tests of the products of training against their references on every SIMD target.
#include "kernels/panel_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

using Dense = std::vector<float>;
constexpr std::size_t kLanes = kPanelRows;
constexpr std::size_t kWidths[] = {kPanelRows, kWidePanelRows};

Buffer<float> aligned(const Dense& values) {
  Buffer<float> buffer(std::max<std::size_t>(1, values.size()));
  std::ranges::copy(values, buffer.begin());
  return buffer;
}

std::size_t panel_size(Index neurons, std::size_t width = kLanes) {
  return neurons * width;
}

Dense first(const Buffer<float>& values, std::size_t count) {
  return {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)};
}

// Connections with values of their own.
struct Weights {
  Pattern pattern;
  Dense value;
};

Weights from_csr(const CsrMatrix& matrix) {
  return {to_pattern(matrix.view()), matrix.value};
}

// 150 rows whose lengths are 0 to 40 in turn, so that runs of four, rests and empty rows all occur.
Weights ragged(std::uint64_t seed) {
  constexpr Index kCols = 64;
  Random random(seed);
  CsrMatrix m;
  m.rows = 150;
  m.cols = kCols;
  std::vector<Index> columns(kCols);
  std::iota(columns.begin(), columns.end(), 0);
  for (Index r = 0; r < m.rows; ++r) {
    random.shuffle(std::span(columns));
    std::vector<Index> chosen(columns.begin(), columns.begin() + r * 7 % 41);
    std::ranges::sort(chosen);
    m.column.insert(m.column.end(), chosen.begin(), chosen.end());
    for (std::size_t e = 0; e < chosen.size(); ++e) m.value.push_back(random.normal());
    m.row_begin.push_back(m.nnz());
  }
  return from_csr(m);
}

using Multiply = decltype(multiply_panel);
Dense product(Multiply* multiply, const Weights& w, const Dense& bias, const PanelEpilogue& epilogue,
              const Dense& x, std::size_t width = kLanes) {
  const Buffer<float> in = aligned(x);
  Buffer<float> out(std::max<std::size_t>(1, panel_size(w.pattern.rows, width)));
  std::ranges::fill(out, -7.0f);
  multiply(w.pattern, w.value, bias, epilogue, in.data(), out.data(), width);
  return first(out, panel_size(w.pattern.rows, width));
}

testing::AssertionResult multiplies_as_reference(const Weights& w, const Dense& bias,
                                                 const PanelEpilogue& epilogue, const Dense& x,
                                                 std::size_t width) {
  const Weights magnitudes{w.pattern, absolute(w.value)};
  const auto length = [&](std::size_t i) {
    const std::size_t row = i / width;
    return w.pattern.row_begin[row + 1] - w.pattern.row_begin[row] + 1;  // and the bias
  };
  return all_within_rounding(product(multiply_panel, w, bias, epilogue, x, width),
                             product(multiply_panel_reference, w, bias, epilogue, x, width),
                             product(multiply_panel_reference, magnitudes, absolute(bias),
                                     {false, epilogue.gate}, absolute(x), width),
                             length);
}

TEST(MultiplyPanel, MultipliesByHand) {
  // 1 . 2
  // . . .
  // . -3 .
  const Weights w = from_csr({3, 3, {0, 2, 2, 3}, {0, 2, 1}, {1, 2, -3}});
  Dense x(panel_size(3));
  for (std::size_t b = 0; b < kLanes; ++b) {
    x[b] = b;
    x[kLanes + b] = 1;
    x[2 * kLanes + b] = 10;
  }
  Dense gate(panel_size(3), 1.0f);
  gate[5] = 0;
  gate[6] = -1;
  gate[7] = kNan;
  const Buffer<float> open = aligned(gate);
  const Dense bias{1, -5, 2};
  for_each_target([&] {
    const Dense y = product(multiply_panel, w, bias, {}, x);
    const Dense relu = product(multiply_panel, w, bias, {true, nullptr}, x);
    const Dense gated = product(multiply_panel, w, bias, {false, open.data()}, x);
    const Dense unbiased = product(multiply_panel, w, {}, {}, x);
    for (std::size_t b = 0; b < kLanes; ++b) {
      const auto sample = static_cast<float>(b);
      EXPECT_EQ(y[b], sample + 21);
      EXPECT_EQ(y[kLanes + b], -5.0f);
      EXPECT_EQ(y[2 * kLanes + b], -1.0f);
      EXPECT_EQ(relu[b], sample + 21);
      EXPECT_EQ(relu[kLanes + b], 0.0f);
      EXPECT_EQ(relu[2 * kLanes + b], 0.0f);
      EXPECT_EQ(gated[b], b >= 5 && b <= 7 ? 0.0f : sample + 21);
      EXPECT_EQ(unbiased[kLanes + b], 0.0f);
      EXPECT_EQ(unbiased[b], sample + 20);
    }
  });
}

TEST(MultiplyPanel, AgreesWithTheReferenceForRowsOfEveryLength) {
  const Weights w = ragged(1);
  const auto bias = random_dense(w.pattern.rows, 3);
  for (const std::size_t width : kWidths) {
    const auto x = random_dense(panel_size(w.pattern.cols, width), 2);
    const Buffer<float> gate = aligned(random_dense(panel_size(w.pattern.rows, width), 4));
    for_each_target([&] {
      for (const bool relu : {false, true})
        for (const float* gated : {static_cast<const float*>(nullptr), gate.data()}) {
          EXPECT_TRUE(multiplies_as_reference(w, bias, {relu, gated}, x, width));
          EXPECT_TRUE(multiplies_as_reference(w, {}, {relu, gated}, x, width));
        }
    });
  }
}

TEST(MultiplyPanel, AgreesWithTheReferenceForAnyMatrix) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const Weights w = from_csr(*any_csr());
      const auto bias = random_dense(w.pattern.rows, 6);
      for (const std::size_t width : kWidths) {
        const auto x = random_dense(panel_size(w.pattern.cols, width), 5);
        RC_ASSERT(static_cast<bool>(multiplies_as_reference(w, bias, {}, x, width)));
      }
    }));
  });
}

TEST(MultiplyPanel, ReachesTheHighestColumn) {
  const Weights w = from_csr({1, kMaxPatternColumns, {0, 2}, {0, kMaxPatternColumns - 1}, {1, 1}});
  Dense x(panel_size(kMaxPatternColumns), 0.0f);
  for (std::size_t b = 0; b < kLanes; ++b) {
    x[b] = 1;
    x[x.size() - kLanes + b] = b;
  }
  for_each_target([&] {
    const Dense y = product(multiply_panel, w, {}, {}, x);
    for (std::size_t b = 0; b < kLanes; ++b) EXPECT_EQ(y[b], static_cast<float>(b) + 1);
  });
}

TEST(MultiplyPanel, AddsTheProductsInTheOrderOfTheColumnsFromTheBiasOn) {
  const Weights w = ragged(7);
  const auto bias = random_dense(w.pattern.rows, 9);
  for (const std::size_t width : kWidths) {
    const auto x = random_dense(panel_size(w.pattern.cols, width), 8);
    Dense plain, fused;  // a target does the one or the other
    for (std::size_t r = 0; r < bias.size(); ++r) {
      for (std::size_t b = 0; b < width; ++b) {
        float sum = bias[r], fused_sum = bias[r];
        for (std::size_t e = w.pattern.row_begin[r]; e < w.pattern.row_begin[r + 1]; ++e) {
          const float factor = x[w.pattern.column[e] * width + b];
          const float term = w.value[e] * factor;
          sum += term;
          fused_sum = std::fma(w.value[e], factor, fused_sum);
        }
        plain.push_back(sum);
        fused.push_back(fused_sum);
      }
    }
    for_each_target([&] {
      const auto actual = bits(product(multiply_panel, w, bias, {}, x, width));
      EXPECT_TRUE(actual == bits(plain) || actual == bits(fused)) << width;
    });
  }
}

TEST(MultiplyPanel, PropagatesNanAndInfinityAsTheReference) {
  const Weights w = ragged(10);
  const auto bias = random_dense(w.pattern.rows, 11);
  for (const std::size_t width : kWidths) {
    const Buffer<float> gate = aligned(random_dense(panel_size(w.pattern.rows, width), 12));
    for (const float special : {kNan, kInfinity, -kInfinity}) {
      auto x = random_dense(panel_size(w.pattern.cols, width), 13);
      x[3] = special;
      x[5 * width + width - 1] = special;
      x[9 * width + 3] = -special;
      for_each_target([&] {
        EXPECT_TRUE(multiplies_as_reference(w, bias, {}, x, width));
        EXPECT_TRUE(multiplies_as_reference(w, bias, {true, nullptr}, x, width));
        EXPECT_TRUE(multiplies_as_reference(w, bias, {false, gate.data()}, x, width));
      });
    }
  }
}

TEST(MultiplyPanel, TakesMatricesWithoutRowsOrColumns) {
  for_each_target([] {
    EXPECT_TRUE(product(multiply_panel, from_csr({0, 5, {0}, {}, {}}), {}, {}, Dense(panel_size(5))).empty());
    EXPECT_EQ(product(multiply_panel, from_csr({2, 0, {0, 0, 0}, {}, {}}), {3, 4}, {}, {})[kLanes], 4.0f);
  });
}

using Gradient = decltype(gradient_panel);
Dense gradients(Gradient* gradient, const Pattern& w, const Dense& y, const Dense& x, Dense start,
                std::size_t width = kLanes) {
  const Buffer<float> rows = aligned(y), columns = aligned(x);
  gradient(w, rows.data(), columns.data(), start, width);
  return start;
}

testing::AssertionResult derives_as_reference(const Pattern& w, const Dense& y, const Dense& x,
                                              const Dense& start, std::size_t width) {
  return all_within_rounding(
      gradients(gradient_panel, w, y, x, start, width),
      gradients(gradient_panel_reference, w, y, x, start, width),
      gradients(gradient_panel_reference, w, absolute(y), absolute(x), absolute(start), width),
      [&](std::size_t) { return width + 1; });
}

TEST(GradientPanel, AddsUpByHand) {
  const Pattern w = to_pattern(CsrMatrix{2, 3, {0, 2, 3}, {0, 2, 1}, {0, 0, 0}}.view());
  Dense y(panel_size(2), 1.0f), x(panel_size(3), 2.0f);
  std::fill_n(y.begin() + kLanes, kLanes, 0.5f);
  x[0] = 0;
  for_each_target([&] { EXPECT_EQ(gradients(gradient_panel, w, y, x, {100, 0, -1}), (Dense{162, 64, 31})); });
}

TEST(GradientPanel, AgreesWithTheReferenceForRowsOfEveryLength) {
  const Pattern w = ragged(14).pattern;
  const auto start = random_dense(w.nnz(), 17);
  for (const std::size_t width : kWidths) {
    const auto y = random_dense(panel_size(w.rows, width), 15);
    const auto x = random_dense(panel_size(w.cols, width), 16);
    for_each_target([&] { EXPECT_TRUE(derives_as_reference(w, y, x, start, width)); });
  }
}

TEST(GradientPanel, AgreesWithTheReferenceForAnyPattern) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const Pattern w = from_csr(*any_csr()).pattern;
      for (const std::size_t width : kWidths) {
        const auto y = random_dense(panel_size(w.rows, width), 18);
        const auto x = random_dense(panel_size(w.cols, width), 19);
        RC_ASSERT(static_cast<bool>(derives_as_reference(w, y, x, random_dense(w.nnz(), 20), width)));
      }
    }));
  });
}

TEST(GradientPanel, TouchesNothingBehindTheLastConnection) {
  for_each_target([] {
    for (Index entries = 0; entries <= 40; ++entries) {
      const Pattern w = to_pattern(one_row(entries, 21).view());
      for (const std::size_t width : kWidths) {
        const auto y = random_dense(panel_size(w.rows, width), 22);
        const auto x = random_dense(panel_size(w.cols, width), 23);
        const Dense start(w.nnz() + 16, -7.0f);
        const Dense gradient = gradients(gradient_panel, w, y, x, start, width);
        EXPECT_EQ(std::count(gradient.end() - 16, gradient.end(), -7.0f), 16) << entries;
      }
    }
  });
}

TEST(GradientPanel, PropagatesNanAndInfinityAsTheReference) {
  const Pattern w = ragged(24).pattern;
  const Dense start(w.nnz(), 0.0f);
  for (const std::size_t width : kWidths) {
    for (const float special : {kNan, kInfinity, -kInfinity}) {
      auto y = random_dense(panel_size(w.rows, width), 25);
      auto x = random_dense(panel_size(w.cols, width), 26);
      y[40 * width + 1] = special;
      x[17 * width + width - 2] = special;
      x[18 * width + 1] = -special;
      for_each_target([&] { EXPECT_TRUE(derives_as_reference(w, y, x, start, width)); });
    }
  }
}

// The sums are those of multiply_panel, bit by bit; the gradients add up as the reference says.
void check_backward(const Weights& w, std::size_t width, std::uint64_t seed) {
  const std::size_t inputs = panel_size(w.pattern.rows, width), outputs = panel_size(w.pattern.cols, width);
  Dense x = random_dense(inputs, seed);
  for (std::size_t i = 0; i < inputs; ++i)
    if (i / width % 3 == 0) x[i] = 0;  // neurons that no sample woke
  const Dense delta = random_dense(outputs, seed + 1);
  const Buffer<float> in = aligned(x), back = aligned(delta);
  const Dense start = random_dense(w.value.size(), seed + 2);
  for (const bool gated : {false, true}) {
    Dense gradient = start;
    gradient.push_back(77);  // behind the last connection
    Buffer<float> next(std::max<std::size_t>(1, inputs));
    backward_panel(w.pattern, w.value, gated, in.data(), back.data(), next.data(),
                   std::span(gradient).first(start.size()), width);
    EXPECT_EQ(gradient.back(), 77);
    gradient.pop_back();
    EXPECT_EQ(first(next, inputs),
              product(multiply_panel, w, {}, {false, gated ? in.data() : nullptr}, delta, width));
    EXPECT_TRUE(all_within_rounding(
        gradient, gradients(gradient_panel_reference, w.pattern, x, delta, start, width),
        gradients(gradient_panel_reference, w.pattern, absolute(x), absolute(delta), absolute(start), width),
        [&](std::size_t) { return width + 1; }));
  }
}

TEST(BackwardPanel, AgreesWithTheReferenceForRowsOfEveryLength) {
  for_each_target([&] {
    for (const std::size_t width : kWidths) check_backward(ragged(6), width, 7);
  });
}

TEST(BackwardPanel, AgreesWithTheReferenceForAnyMatrix) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const Weights w = from_csr(*any_csr());
      for (const std::size_t width : kWidths) check_backward(w, width, 27);
      RC_ASSERT(!testing::Test::HasFailure());
    }));
  });
}

TEST(AddRowSums, AgreesWithTheReferenceForEveryNumberOfRowsAndTouchesNothingElse) {
  for_each_target([] {
    for (std::size_t rows = 0; rows <= 70; ++rows) {
      for (const std::size_t width : kWidths) {
        const auto values = random_dense(rows * width, rows);
        const Buffer<float> y = aligned(values), magnitudes = aligned(absolute(values));
        auto actual = random_dense(rows + 1, 27);
        Dense expected = actual, magnitude = absolute(actual);
        const float last = actual.back();
        add_row_sums(y.data(), rows, actual, width);
        add_row_sums_reference(y.data(), rows, expected, width);
        add_row_sums_reference(magnitudes.data(), rows, magnitude, width);
        EXPECT_TRUE(all_within_rounding(actual, expected, magnitude, [&](std::size_t) { return width + 1; }))
            << rows;
        EXPECT_EQ(actual.back(), last);
      }
    }
  });
}

TEST(AddRowSums, KeepsNanAndInfinityInTheirRows) {
  Dense values(20 * kLanes, 1.0f);
  values[3 * kLanes + 7] = kNan;
  values[17 * kLanes + 31] = -kInfinity;
  const Buffer<float> y = aligned(values);
  for_each_target([&] {
    Dense sum(20, 1.0f);
    add_row_sums(y.data(), 20, sum);
    for (std::size_t r = 0; r < sum.size(); ++r) {
      if (r == 3)
        EXPECT_TRUE(std::isnan(sum[r]));
      else
        EXPECT_EQ(sum[r], r == 17 ? -kInfinity : 33.0f) << r;
    }
  });
}

}  // namespace
}  // namespace filigree::internal
