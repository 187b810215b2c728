// SPDX-License-Identifier: Apache-2.0
// Tests of SpMM: any batch from CSR, and panels from packed matrices, against the reference on every SIMD
// target.
#include "kernels/spmm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kLanes = kPanelRows;

std::vector<float> fast(const CsrMatrix& w, const std::vector<float>& x, std::size_t batch) {
  std::vector<float> y(w.rows * batch, -7.0f);
  spmm(w.view(), x, batch, y);
  return y;
}

std::vector<float> reference(const CsrMatrix& w, const std::vector<float>& x, std::size_t batch) {
  std::vector<float> y(w.rows * batch, -8.0f);
  spmm_reference(w.view(), x, batch, y);
  return y;
}

Buffer<float> aligned(const std::vector<float>& values) {
  Buffer<float> buffer(std::max<std::size_t>(1, values.size()));
  std::ranges::copy(values, buffer.begin());
  return buffer;
}

std::vector<float> panel(const PackedMatrix& w, const std::vector<float>& x, const Epilogue& epilogue = {},
                         PanelRange* range_out = nullptr) {
  const Buffer<float> in = aligned(x);
  Buffer<float> out(std::max<std::size_t>(1, w.rows * kLanes));
  std::ranges::fill(out, -7.0f);
  PanelRange range;
  spmm_panel(w, epilogue, in.data(), out.data(), range);
  if (range_out != nullptr) *range_out = range;
  return {out.begin(), out.begin() + static_cast<std::ptrdiff_t>(w.rows * kLanes)};
}

testing::AssertionResult agrees(const CsrMatrix& w, const std::vector<float>& x, std::size_t batch,
                                const std::vector<float>& actual) {
  return all_within_rounding(
      actual, reference(w, x, batch), reference(absolute(w), absolute(x), batch),
      [&](std::size_t i) { return w.row_begin[i / batch + 1] - w.row_begin[i / batch]; });
}

// Rows that repeat a few patterns, so that groups share their inputs; values differ.
CsrMatrix repeating(Index rows, Index cols, Index patterns, std::uint64_t seed) {
  const CsrMatrix base = random_csr(patterns, cols, 0.4, seed);
  Random random(seed + 1);
  CsrMatrix m;
  m.rows = rows;
  m.cols = cols;
  for (Index r = 0; r < rows; ++r) {
    const auto columns = base.view().row_columns(random.below(patterns));
    m.column.insert(m.column.end(), columns.begin(), columns.end());
    for (std::size_t e = 0; e < columns.size(); ++e) m.value.push_back(random.normal());
    m.row_begin.push_back(m.nnz());
  }
  return m;
}

TEST(Spmm, MultipliesByHand) {
  // 1 . 2
  // . . 3    times a batch of two, neuron by neuron
  const CsrMatrix w{2, 3, {0, 2, 3}, {0, 2, 2}, {1, 2, 3}};
  const std::vector<float> x{1, 2, 10, 20, 100, 200};
  const std::vector<float> expected{201, 402, 300, 600};
  EXPECT_EQ(reference(w, x, 2), expected);
  for_each_target([&] { EXPECT_EQ(fast(w, x, 2), expected); });
}

TEST(Spmm, AgreesWithTheReferenceForEveryBatch) {
  const CsrMatrix w = random_csr(9, 13, 0.4, 1);
  for_each_target([&] {
    for (std::size_t batch = 1; batch <= 140; ++batch) {
      const auto x = random_dense(13 * batch, 2);
      EXPECT_TRUE(agrees(w, x, batch, fast(w, x, batch))) << batch;
    }
  });
}

TEST(Spmm, GivesTheSameBitsForAnyNumberOfThreads) {
  const CsrMatrix w = random_csr(300, 200, 0.1, 3);
  const auto x = random_dense(200 * 5, 4);
  const auto expected = bits(fast(w, x, 5));
  for_thread_counts([&] { EXPECT_EQ(bits(fast(w, x, 5)), expected); });
}

TEST(SpmmPanel, AgreesWithTheReferenceForAnyMatrixAndTile) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto w = *any_csr();
      const auto tile = *rc::gen::inRange<Index>(0, 24);
      const auto x = random_dense(w.cols * kLanes, 5);
      RC_ASSERT(static_cast<bool>(agrees(w, x, kLanes, panel(pack(w.view(), {tile}), x))));
    }));
  });
}

TEST(SpmmPanel, AgreesWithTheReferenceWhereOutputsShareTheirInputs) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto rows = *rc::gen::inRange<Index>(1, 60);
      const auto patterns = *rc::gen::inRange<Index>(1, 4);
      const auto seed = *rc::gen::arbitrary<std::uint64_t>();
      const auto tile = *rc::gen::inRange<Index>(0, 40);
      const CsrMatrix w = repeating(rows, 30, patterns, seed);
      const auto x = random_dense(30 * kLanes, 6);
      RC_ASSERT(static_cast<bool>(agrees(w, x, kLanes, panel(pack(w.view(), {tile}), x))));
    }));
  });
}

TEST(SpmmPanel, GivesTheSameBitsWhateverTheTiles) {
  const CsrMatrix w = random_csr(70, 90, 0.3, 7);
  const auto x = random_dense(90 * kLanes, 8);
  for_each_target([&] {
    const auto expected = bits(panel(pack(w.view(), {90}), x));
    for (const Index tile : {1, 2, 7, 16, 30, 89})
      EXPECT_EQ(bits(panel(pack(w.view(), {tile}), x)), expected) << tile;
  });
}

TEST(SpmmPanel, AddsUniformPowersOfTwoExactlyLikeOtherValues) {
  CsrMatrix w = random_csr(40, 50, 0.4, 9);
  std::ranges::fill(w.value, 0.0625f);
  const auto x = random_dense(50 * kLanes, 10);
  const PackedMatrix uniform = pack(w.view());
  ASSERT_TRUE(uniform.value.empty());
  PackedMatrix explicit_values = pack(w.view());
  explicit_values.value = Buffer<float>(w.nnz());
  std::ranges::fill(explicit_values.value, 0.0625f);
  for_each_target([&] { EXPECT_EQ(bits(panel(uniform, x)), bits(panel(explicit_values, x))); });
}

TEST(SpmmPanel, AppliesScaleBiasActivationAndTracksTheRange) {
  const CsrMatrix w{3, 2, {0, 1, 2, 2}, {0, 1}, {2, -3}};
  std::vector<float> x(2 * kLanes);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    x[lane] = lane;
    x[kLanes + lane] = 1;
  }
  const std::vector<float> bias{1, 10, -5};
  for_each_target([&] {
    PanelRange range;
    const auto y = panel(pack(w.view()), x, {bias, {Activation::relu, 20}, 0.5f}, &range);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float first = static_cast<float>(lane) + 1;  // 0.5 · 2 · lane + 1
      EXPECT_EQ(y[lane], std::min(first, 20.0f));
      EXPECT_EQ(y[kLanes + lane], 8.5f);
      EXPECT_EQ(y[2 * kLanes + lane], 0.0f);
      EXPECT_EQ(range.highest[lane], std::max(first, 8.5f));
      EXPECT_EQ(range.lowest[lane], -5.0f);
    }
  });
}

TEST(SpmmPanel, GivesTheFirstRowsTheSameBitsAlone) {
  for (const bool uniform : {false, true}) {
    CsrMatrix w = repeating(70, 90, 9, 5);
    if (uniform) std::ranges::fill(w.value, 0.25f);
    const PackedMatrix packed = pack(w.view());
    Random random(6);
    Buffer<float> x(90 * kLanes), whole(70 * kLanes), part(70 * kLanes);
    for (float& v : x) v = random.normal();
    std::vector<float> bias(70);
    for (float& b : bias) b = random.normal();
    for (const Activation activation : {Activation::relu, Activation::identity})
      for (const std::size_t rows : {1u, 8u, 16u, 17u, 32u})
        for_each_target([&] {
          PanelRange range, all;
          spmm_panel(packed, {bias, activation}, x.data(), whole.data(), all);
          std::ranges::fill(part, -7.0f);
          spmm_panel(packed, {bias, activation}, x.data(), part.data(), range, rows);
          for (std::size_t o = 0; o < 70; ++o)
            for (std::size_t r = 0; r < rows; ++r) ASSERT_EQ(part[o * kLanes + r], whole[o * kLanes + r]);
          for (std::size_t r = 0; r < rows; ++r) ASSERT_EQ(range.highest[r], all.highest[r]);
        });
  }
}

TEST(SpmmPanel, KeepsNanAndInfinity) {
  const CsrMatrix w{2, 3, {0, 2, 3}, {0, 1, 2}, {1.5f, 2, 1}};
  std::vector<float> x(3 * kLanes, 1.0f);
  x[0] = kNan;
  x[1] = kInfinity;
  x[2] = -kInfinity;
  for_each_target([&] {
    const auto linear = panel(pack(w.view()), x);
    EXPECT_TRUE(agrees(w, x, kLanes, linear));
    const auto relu = panel(pack(w.view()), x, {{}, {Activation::relu, 32}});
    EXPECT_TRUE(std::isnan(relu[0]));
    EXPECT_EQ(relu[1], 32.0f);
    EXPECT_EQ(relu[2], 0.0f);
    EXPECT_EQ(relu[3], 3.5f);
    EXPECT_EQ(relu[kLanes], 1.0f) << "a neighbour's NaN must not spread";
  });
}

TEST(SpmmPanel, SaysInTheRangeThatSomethingWasNotFinite) {
  const CsrMatrix w{3, 1, {0, 1, 2, 3}, {0, 0, 0}, {5, 3, -3}};
  for (const float odd : {kNan, kInfinity, -kInfinity}) {
    std::vector<float> x(kLanes, 1.0f);
    x[7] = odd;
    for_each_target([&] {
      PanelRange range;
      panel(pack(w.view()), x, {{}, {Activation::relu, 32}}, &range);
      EXPECT_TRUE(std::isnan(range.highest[7]) && std::isnan(range.lowest[7]));
      EXPECT_EQ(range.highest[6], 5.0f);
      EXPECT_EQ(range.lowest[8], -3.0f);
    });
  }
}

TEST(SpmmPanel, TakesMatricesWithoutRowsOrColumns) {
  for_each_target([] {
    EXPECT_TRUE(
        panel(pack(CsrMatrix{0, 5, {0}, {}, {}}.view()), std::vector<float>(5 * kLanes, 1.0f)).empty());
    EXPECT_EQ(panel(pack(CsrMatrix{2, 0, {0, 0, 0}, {}, {}}.view()), {}),
              std::vector<float>(2 * kLanes, 0.0f));
  });
}

TEST(AppendPanelRows, AppendsTheMarkedRowsInOrderAndNothingElse) {
  constexpr Index kNeurons = 5;
  std::vector<float> from(kNeurons * kLanes);
  std::iota(from.begin(), from.end(), 0.0f);
  const Buffer<float> source = aligned(from);
  for_each_target([&] {
    EXPECT_TRUE(rc::check([&] {
      const auto marked = *rc::gen::arbitrary<std::uint32_t>();
      const int count = std::popcount(marked);
      const auto at = *rc::gen::inRange<Index>(0, kPanelRows - count + 1);
      Buffer<float> to(kNeurons * kLanes);
      std::ranges::fill(to, -1.0f);
      append_panel_rows(source.data(), kNeurons, marked, to.data(), at);
      for (std::size_t n = 0; n < kNeurons; ++n) {
        std::vector<float> expected(kLanes, -1.0f);
        std::size_t next = at;
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          if (marked >> lane & 1) expected[next++] = from[n * kLanes + lane];
        RC_ASSERT(std::equal(expected.begin(), expected.end(), to.data() + n * kLanes));
      }
    }));
  });
}

TEST(AddPanelRows, BringsRowsBackWithTheirWeightsAndTouchesNothingElse) {
  constexpr Index kNeurons = 5;
  std::vector<float> appended(kNeurons * kLanes);
  std::iota(appended.begin(), appended.end(), 1.0f);
  appended.resize(appended.size() + kLanes,
                  std::numeric_limits<float>::quiet_NaN());  // may be read, not used
  const Buffer<float> from = aligned(appended);
  for_each_target([&] {
    EXPECT_TRUE(rc::check([&] {
      const auto marked = *rc::gen::arbitrary<std::uint32_t>();
      const int count = std::popcount(marked);
      const auto at = *rc::gen::inRange<Index>(0, kPanelRows - count + 1);
      float weight[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) weight[i] = 0.5f * static_cast<float>(i);  // exact
      Buffer<float> to(kNeurons * kLanes);
      std::ranges::fill(to, -1.0f);
      add_panel_rows(from.data(), kNeurons, at, marked, weight, to.data());
      for (std::size_t n = 0; n < kNeurons; ++n) {
        std::size_t next = at;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          float expected = -1.0f;
          if (marked >> lane & 1) {
            expected += weight[next] * appended[n * kLanes + next];
            ++next;
          }
          RC_ASSERT(to[n * kLanes + lane] == expected);
        }
      }
    }));
  });
}

TEST(Pack, SharesTheInputsOfRepeatedPatterns) {
  // Thirteen outputs read the same two inputs, one reads another.
  CsrMatrix w;
  w.rows = 14;
  w.cols = 4;
  for (Index r = 0; r < 13; ++r) {
    w.column.insert(w.column.end(), {0, 2});
    w.value.insert(w.value.end(), {static_cast<float>(r), 1});
    w.row_begin.push_back(w.nnz());
  }
  w.column.push_back(3);
  w.value.push_back(1);
  w.row_begin.push_back(w.nnz());
  const PackedMatrix packed = pack(w.view());
  EXPECT_EQ(packed.shared_connections(), 26);
  EXPECT_EQ(packed.input.size(), 2u + 2 + 1);  // a group of eight, one of five, and the one
}

TEST(Pack, TilesRandomLayersButNotRepeatedPatterns) {
  EXPECT_EQ(tile_inputs_for(1024, 1024, 1024 * 32), 256);
  EXPECT_EQ(tile_inputs_for(4096, 4096, 4096 * 32), 4096);  // two connections per tile would not pay
  const CsrMatrix random = random_csr(64, 1024, 0.05, 11);
  EXPECT_EQ(pack(random.view()).tiles.size(), 4u);
  EXPECT_EQ(pack(repeating(64, 1024, 2, 12).view()).tiles.size(), 1u);
}

}  // namespace
}  // namespace filigree::internal
