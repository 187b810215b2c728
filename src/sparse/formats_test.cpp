// SPDX-License-Identifier: Apache-2.0
// A matrix keeps its entries on any walk through all formats.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "filigree/sparse.h"
#include "sparse/test_matrices.h"

namespace filigree::internal {
namespace {

TEST(Formats, KeepAMatrixOnAnyWalkThroughThem) {
  const std::vector<std::function<CsrMatrix(const CsrView&)>> steps = {
      [](const CsrView& m) { return to_csr(to_coo(m)); },
      [](const CsrView& m) { return to_csr(to_csc(m).view()); },
      [](const CsrView& m) { return to_csr(to_ell(m)); },
      [](const CsrView& m) { return to_csr(to_bsr(m, 4)); },
      [](const CsrView& m) { return to_csr(to_lil(m)); },
  };
  EXPECT_TRUE(rc::check([&] {
    const auto original = *any_csr();
    const auto walk =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, steps.size()));
    CsrMatrix m = original;
    for (const std::size_t step : walk) {
      m = steps[step](m.view());
      validate(m.view());
    }
    RC_ASSERT(m == original);
  }));
}

}  // namespace
}  // namespace filigree::internal
