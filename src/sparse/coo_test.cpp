// SPDX-License-Identifier: Apache-2.0
// Tests of COO: order, duplicates, errors and the way to CSR and back.
#include "filigree/sparse.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "sparse/test_errors.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

TEST(CooToCsr, SortsEntriesInAnyOrder) {
  const CooMatrix coo{3, 4, {2, 0, 2, 0, 2}, {3, 2, 0, 1, 1}, {5, 2, 3, 1, 4}};
  const CsrMatrix expected{3, 4, {0, 2, 2, 5}, {1, 2, 0, 1, 3}, {1, 2, 3, 4, 5}};
  EXPECT_EQ(to_csr(coo), expected);
}

TEST(CooToCsr, HandlesMatricesWithoutRowsColumnsOrEntries) {
  EXPECT_EQ(to_csr(CooMatrix{}), CsrMatrix{});
  const CooMatrix flat{0, 3, {}, {}, {}};
  EXPECT_EQ(to_csr(flat), (CsrMatrix{0, 3, {0}, {}, {}}));
  const CooMatrix tall{2, 0, {}, {}, {}};
  EXPECT_EQ(to_csr(tall), (CsrMatrix{2, 0, {0, 0, 0}, {}, {}}));
  const CooMatrix one{1, 1, {0}, {0}, {7}};
  EXPECT_EQ(to_csr(one), (CsrMatrix{1, 1, {0, 1}, {0}, {7}}));
}

TEST(CooToCsr, RejectsDuplicatesNamingBothEntries) {
  const CooMatrix coo{3, 4, {1, 0, 1}, {2, 0, 2}, {5, 6, 7}};
  EXPECT_EQ(error_of([&] { to_csr(coo, Duplicates::reject, "a.tsv"); }),
            "a.tsv: entry 2 repeats row 1, column 2 of entry 0");
}

TEST(CooToCsr, SumsDuplicatesWhenAsked) {
  const CooMatrix coo{2, 3, {1, 0, 1, 1}, {2, 0, 2, 2}, {5, 6, 7, 8}};
  EXPECT_EQ(to_csr(coo, Duplicates::sum), (CsrMatrix{2, 3, {0, 1, 2}, {0, 2}, {6, 20}}));
}

TEST(CooToCsr, NamesTheEntryOutOfRange) {
  CooMatrix coo{3, 4, {1, 3}, {2, 0}, {5, 6}};
  EXPECT_EQ(error_of([&] { to_csr(coo); }), "COO matrix: entry 1: row 3, but the matrix has 3 rows");
  coo.row = {1, 2};
  coo.column = {-2, 0};
  EXPECT_EQ(error_of([&] { to_csr(coo); }), "COO matrix: entry 0: column -2, but the matrix has 4 columns");
}

TEST(CooValidate, RejectsArraysOfUnequalLengthAndNegativeSizes) {
  const CooMatrix ragged{3, 4, {1, 2}, {2}, {5, 6}};
  EXPECT_EQ(error_of([&] { validate(ragged, "W"); }),
            "W: 2 rows, 1 columns and 2 values do not make triples");
  const CooMatrix negative{-3, 4, {}, {}, {}};
  EXPECT_EQ(error_of([&] { validate(negative, "W"); }), "W: -3 rows and 4 columns; neither may be negative");
}

TEST(CooRoundTrip, RestoresTheCsrFromShuffledEntries) {
  EXPECT_TRUE(rc::check([] {
    const auto m = *any_csr();
    const CooMatrix sorted = to_coo(m.view());
    validate(sorted);
    std::vector<std::size_t> order(sorted.value.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Random(*rc::gen::arbitrary<std::uint64_t>()).shuffle(std::span(order));
    CooMatrix shuffled{m.rows, m.cols, {}, {}, {}};
    for (const std::size_t e : order) {
      shuffled.row.push_back(sorted.row[e]);
      shuffled.column.push_back(sorted.column[e]);
      shuffled.value.push_back(sorted.value[e]);
    }
    RC_ASSERT(to_csr(shuffled) == m);
  }));
}

TEST(CooRoundTrip, DoublesValuesWhenEveryEntryComesTwice) {
  EXPECT_TRUE(rc::check([] {
    auto m = *any_csr();
    CooMatrix twice = to_coo(m.view());
    const CooMatrix once = twice;
    twice.row.insert(twice.row.end(), once.row.rbegin(), once.row.rend());
    twice.column.insert(twice.column.end(), once.column.rbegin(), once.column.rend());
    twice.value.insert(twice.value.end(), once.value.rbegin(), once.value.rend());
    for (float& value : m.value) value += value;
    RC_ASSERT(to_csr(twice, Duplicates::sum) == m);
  }));
}

}  // namespace
}  // namespace filigree::internal
