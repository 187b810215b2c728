// SPDX-License-Identifier: Apache-2.0
// Choosing rows: a part of a data set, and the draw that decides which rows are for testing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace filigree::internal {

// Ascending row numbers that together are all rows.
struct Split {
  std::vector<Index> train, test;
};

// The share of the rows for testing is rounded to whole rows, and one row at least is left to train with.
Split split_rows(Index rows, double test_share, std::uint64_t seed);

// A hash of the rows, their labels aside, that does not depend on their order; never 0.
std::uint64_t hash_of_rows(const DataRows& rows);

// Draws the test rows of `set` from `rows`, by options.test_share and options.seed.
void draw_parts(const DataRows& rows, const DataOptions& options, Dataset& set);

}  // namespace filigree::internal
