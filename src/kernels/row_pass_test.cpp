// SPDX-License-Identifier: Apache-2.0
// Tests of single rows: the bits of the panel kernel, on every SIMD target, with zeros skipped or not.
#include "kernels/row_pass.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>

#include "base/random.h"
#include "kernels/test_support.h"
#include "kernels/test_targets.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

constexpr std::size_t kLanes = kPanelRows;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> one_row(const CsrMatrix& w, const std::vector<float>& x, const Epilogue& epilogue,
                           bool skip) {
  const RowMatrix by_input = row_matrix(w);
  Buffer<float> in(std::max<std::size_t>(1, x.size())), out(std::max<std::size_t>(1, by_input.padded_rows()));
  Buffer<std::uint32_t> active(in.size());
  std::ranges::copy(x, in.begin());
  std::ranges::fill(out, -7.0f);
  row_pass(by_input, epilogue, in.data(), out.data(), active.data(), skip);
  return {out.begin(), out.begin() + w.rows};
}

// The first lane of a panel.
std::vector<float> panel_row(const CsrMatrix& w, const std::vector<float>& x, const Epilogue& epilogue) {
  Buffer<float> in(std::max<std::size_t>(1, x.size() * kLanes)),
      out(std::max<std::size_t>(1, w.rows * kLanes));
  in.zero();
  for (std::size_t i = 0; i < x.size(); ++i) in[i * kLanes] = x[i];
  PanelRange range;
  spmm_panel(pack(w.view()), epilogue, in.data(), out.data(), range);
  std::vector<float> y;
  for (Index o = 0; o < w.rows; ++o) y.push_back(out[o * kLanes]);
  return y;
}

std::vector<float> half_zero(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(count);
  for (float& v : x) v = random.uniform() < 0.5 ? 0.0f : static_cast<float>(random.normal());
  return x;
}

TEST(RowPass, GivesTheBitsOfThePanelKernel) {
  for_each_target([] {
    EXPECT_TRUE(rc::check([] {
      const auto rows = *rc::gen::inRange<Index>(1, 150), cols = *rc::gen::inRange<Index>(1, 40);
      const auto density = *rc::gen::element(0.1, 0.5, 1.0);
      CsrMatrix w = random_csr(rows, cols, density, *rc::gen::arbitrary<std::uint32_t>());
      const auto x = half_zero(cols, *rc::gen::arbitrary<std::uint32_t>());
      const auto bias = half_zero(rows, 3);
      for (const Epilogue& epilogue :
           {Epilogue{}, Epilogue{bias, {Activation::relu, 0.5f}}, Epilogue{bias, Activation::identity}}) {
        const auto expected = bits(panel_row(w, x, epilogue));
        RC_ASSERT(bits(one_row(w, x, epilogue, true)) == expected);
        RC_ASSERT(bits(one_row(w, x, epilogue, false)) == expected);
      }
    }));
  });
}

TEST(RowPass, TakesLayersWhereSomeInputsAreReadByAllAndOthersByNone) {
  CsrMatrix w;
  w.rows = 70;
  w.cols = 9;
  Random random(1);
  for (Index r = 0; r < w.rows; ++r) {
    for (const Index c : {1, 4, 8}) {
      w.column.push_back(c);
      w.value.push_back(random.normal());
    }
    w.row_begin.push_back(w.nnz());
  }
  EXPECT_EQ(row_matrix(w).stride, 80u);
  EXPECT_EQ(row_matrix(w).value.size(), 3u * 80);
  const auto x = random_dense(9, 2);
  for_each_target([&] { EXPECT_EQ(bits(one_row(w, x, {}, true)), bits(panel_row(w, x, {}))); });
}

TEST(RowPass, KeepsNanAndInfinity) {
  const CsrMatrix w{2, 3, {0, 2, 3}, {0, 1, 2}, {1.5f, 2, 1}};
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    const std::vector<float> x{odd, 1, 1};
    const Epilogue relu{{}, {Activation::relu, 32}};
    for_each_target([&] { EXPECT_EQ(bits(one_row(w, x, relu, true)), bits(panel_row(w, x, relu))); });
  }
}

TEST(Unpack, GivesBackWhatWasPacked) {
  rc::check([] {
    const CsrMatrix w = *any_csr();
    const auto tile = *rc::gen::inRange<Index>(0, 24);
    RC_ASSERT(unpack(pack(w.view(), {tile})) == w);
  });
  CsrMatrix uniform = random_csr(40, 50, 0.4, 9);
  std::ranges::fill(uniform.value, 0.0625f);
  EXPECT_EQ(unpack(pack(uniform.view())), uniform);
  const CsrMatrix full = random_csr(45, 20, 1.0, 9);
  EXPECT_EQ(unpack(pack(full.view())), full);
}

}  // namespace
}  // namespace filigree::internal
