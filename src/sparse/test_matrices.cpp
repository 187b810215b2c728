// SPDX-License-Identifier: Apache-2.0
#include "sparse/test_matrices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/random.h"

namespace filigree::internal {

CsrMatrix random_csr(Index rows, Index cols, double density, std::uint64_t seed) {
  Random random(seed);
  CsrMatrix m;
  m.rows = rows;
  m.cols = cols;
  for (Index r = 0; r < rows; ++r) {
    const bool empty = random.below(8) == 0;
    for (Index c = 0; c < cols && !empty; ++c) {
      if (random.uniform() >= density) continue;
      m.column.push_back(c);
      m.value.push_back(random.uniform(0.1, 2.0) * (random.below(2) == 0 ? 1 : -1));
    }
    m.row_begin.push_back(m.nnz());
  }
  return m;
}

rc::Gen<CsrMatrix> any_csr_with_rows(Index rows) {
  return rc::gen::apply(random_csr, rc::gen::just(rows), rc::gen::inRange<Index>(0, 21),
                        rc::gen::element(0.0, 0.05, 0.3, 1.0), rc::gen::arbitrary<std::uint64_t>());
}

rc::Gen<CsrMatrix> any_csr() {
  return rc::gen::mapcat(rc::gen::inRange<Index>(0, 21), any_csr_with_rows);
}

void showValue(const CsrMatrix& m, std::ostream& out) {
  out << fmt::format("{} x {}, row_begin {}, column {}, value {}", m.rows, m.cols, m.row_begin, m.column,
                     m.value);
}

}  // namespace filigree::internal
