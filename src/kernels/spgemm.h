// SPDX-License-Identifier: Apache-2.0
// SpGEMM: C = A B, all sparse.
#pragma once

#include "sparse/csr.h"

namespace filigree {

// C holds an entry wherever some k has entries A(i, k) and B(k, j), also where the sum is zero; columns
// are sorted. A.cols equals B.rows. The same bits for any number of threads.
CsrMatrix spgemm(const CsrView& a, const CsrView& b);
CsrMatrix spgemm_reference(const CsrView& a, const CsrView& b);

}  // namespace filigree
