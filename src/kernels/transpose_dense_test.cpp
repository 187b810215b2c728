// SPDX-License-Identifier: Apache-2.0
// Tests of rows that become columns.
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <vector>

#include "filigree/sparse.h"

namespace filigree {
namespace {

TEST(Transpose, ExchangesRowsAndColumnsOfAnySize) {
  for (const std::size_t rows : {0, 1, 3, 4, 5, 8, 31, 128})
    for (const std::size_t columns : {0, 1, 2, 4, 7, 8, 9, 12, 15, 16, 100, 1024}) {
      std::vector<float> from(rows * columns), to(rows * columns, -1.0f);
      std::iota(from.begin(), from.end(), 0.0f);
      transpose(from, rows, columns, to);
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t c = 0; c < columns; ++c)
          ASSERT_EQ(to[c * rows + r], from[r * columns + c]) << rows << " × " << columns;
    }
}

TEST(Transpose, RefusesOtherSizes) {
  std::vector<float> six(6), five(5);
  EXPECT_THROW(transpose(six, 2, 3, five), std::invalid_argument);
  EXPECT_THROW(transpose(five, 2, 3, six), std::invalid_argument);
}

}  // namespace
}  // namespace filigree
