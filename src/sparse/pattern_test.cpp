// SPDX-License-Identifier: Apache-2.0
// Tests of the connections of a layer in training: validation, the order of rows, transposition, CSR and
// back.
#include "sparse/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

// x . x
// . . .
// . x x
Pattern small() {
  Pattern pattern;
  pattern.rows = 3;
  pattern.cols = 3;
  pattern.row_begin = {0, 2, 2, 4};
  pattern.column = {0, 2, 1, 2};
  index_rows(pattern);
  return pattern;
}

std::string complaint(const Pattern& pattern) {
  return error_of([&] { validate(pattern, "W"); });
}

std::uint32_t length(const Pattern& pattern, std::uint32_t row) {
  return pattern.row_begin[row + 1] - pattern.row_begin[row];
}

TEST(Pattern, OrdersRowsByLengthAndThenByNumber) {
  const Pattern pattern = small();
  EXPECT_EQ(pattern.order, (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(pattern.runs, (std::vector<Pattern::Run>{{0, 1}, {2, 2}}));
}

TEST(Pattern, OrdersTheRowsOfAnyMatrix) {
  EXPECT_TRUE(rc::check([] {
    const auto matrix = *any_csr();
    const Pattern pattern = to_pattern(matrix.view());
    const std::size_t rows = matrix.rows;
    std::vector<std::uint32_t> expected(rows);
    std::iota(expected.begin(), expected.end(), 0u);
    std::stable_sort(expected.begin(), expected.end(), [&](std::uint32_t a, std::uint32_t b) {
      return length(pattern, a) < length(pattern, b);
    });
    RC_ASSERT(pattern.order == expected);
    std::vector<std::uint32_t> lengths;  // as the runs tell them
    std::uint32_t before = 0;
    for (const Pattern::Run& run : pattern.runs) {
      RC_ASSERT(run.rows > 0);
      RC_ASSERT(lengths.empty() || run.length > before);
      before = run.length;
      lengths.insert(lengths.end(), run.rows, run.length);
    }
    RC_ASSERT(lengths.size() == rows);
    for (std::size_t i = 0; i < rows; ++i) RC_ASSERT(lengths[i] == length(pattern, expected[i]));
  }));
}

TEST(Pattern, RestoresTheCsr) {
  EXPECT_TRUE(rc::check([] {
    const auto matrix = *any_csr();
    const Pattern pattern = to_pattern(matrix.view());
    validate(pattern, "W");
    RC_ASSERT(to_csr(pattern, matrix.value) == matrix);
  }));
}

TEST(Pattern, IsItsTransposesTranspose) {
  EXPECT_TRUE(rc::check([] {
    const auto matrix = *any_csr();
    const Pattern pattern = to_pattern(matrix.view());
    const Pattern transposed = transpose(pattern);
    validate(transposed, "W");
    RC_ASSERT(transpose(transposed) == pattern);
  }));
}

TEST(Pattern, TransposesValuesAsCsrDoes) {
  EXPECT_TRUE(rc::check([] {
    const auto matrix = *any_csr();
    const Pattern pattern = to_pattern(matrix.view());
    const Pattern transposed = transpose(pattern);
    std::vector<std::uint32_t> cursor(transposed.rows);
    std::vector<float> value(matrix.value.size(), -7.0f);
    transpose_values(pattern, matrix.value, transposed, cursor, value);
    RC_ASSERT(to_csr(transposed, value) == transpose(matrix.view()));
  }));
}

TEST(Pattern, HoldsTheHighestColumnOfThemAll) {
  const CsrMatrix wide{2, kMaxPatternColumns, {0, 1, 3}, {65535, 0, 65535}, {1, 2, 3}};
  const Pattern pattern = to_pattern(wide.view());
  EXPECT_EQ(complaint(pattern), "");
  EXPECT_EQ(to_csr(pattern, wide.value), wide);
  EXPECT_EQ(to_csr(transpose(transpose(pattern)), wide.value), wide);
}

TEST(Pattern, RefusesMoreColumnsThanItCanName) {
  const CsrMatrix wide{1, kMaxPatternColumns + 1, {0, 0}, {}, {}};
  EXPECT_EQ(error_of([&] { to_pattern(wide.view()); }),
            "a layer in training has 65537 inputs; 65536 is the most");
  Pattern pattern = small();
  pattern.cols = kMaxPatternColumns + 1;
  EXPECT_EQ(complaint(pattern), "W: 3 × 65537 connections; 65536 columns is the most");
}

TEST(PatternValidate, AcceptsSoundPatterns) {
  EXPECT_EQ(complaint(small()), "");
  EXPECT_EQ(complaint(Pattern{}), "");
  EXPECT_EQ(complaint(to_pattern(CsrMatrix{2, 0, {0, 0, 0}, {}, {}}.view())), "");
  EXPECT_EQ(complaint(to_pattern(CsrMatrix{0, 2, {0}, {}, {}}.view())), "");
}

TEST(PatternValidate, NamesEachBreach) {
  Pattern pattern = small();
  pattern.rows = -1;
  EXPECT_NE(complaint(pattern).find("W: -1 × 3 connections"), std::string::npos);
  pattern = small();
  pattern.cols = -1;
  EXPECT_NE(complaint(pattern).find("W: 3 × -1 connections"), std::string::npos);
  pattern = small();
  pattern.row_begin.pop_back();
  EXPECT_EQ(complaint(pattern), "W: 3 row bounds for 3 rows");
  pattern = small();
  pattern.row_begin.clear();
  EXPECT_EQ(complaint(pattern), "W: 0 row bounds for 3 rows");
  pattern = small();
  pattern.row_begin.front() = 1;
  EXPECT_EQ(complaint(pattern), "W: rows span 1 to 4, but there are 4 connections");
  pattern = small();
  pattern.row_begin.back() = 5;
  EXPECT_EQ(complaint(pattern), "W: rows span 0 to 5, but there are 4 connections");
  pattern = small();
  pattern.row_begin = {0, 3, 2, 4};
  pattern.column = {0, 1, 2, 2};
  EXPECT_EQ(complaint(pattern), "W: row 1 ends before it begins");
  pattern = small();
  pattern.row_begin = {0, 9, 9, 4};
  EXPECT_EQ(complaint(pattern), "W: row 0 ends before it begins");
  pattern = small();
  pattern.column[3] = 3;
  EXPECT_EQ(complaint(pattern), "W: row 2 has column 3, but there are 3");
  pattern = small();
  pattern.column = {2, 0, 1, 2};
  EXPECT_EQ(complaint(pattern), "W: row 0 has column 0 after column 2");
  pattern = small();
  pattern.column = {0, 2, 1, 1};
  EXPECT_EQ(complaint(pattern), "W: row 2 has column 1 after column 1");
}

}  // namespace
}  // namespace filigree::internal
