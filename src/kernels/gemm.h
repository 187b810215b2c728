// SPDX-License-Identifier: Apache-2.0
// Dense matrix products, called out to oneDNN where it is installed: the dense baseline and its yardstick.
// (Debian's OpenBLAS takes recent Xeons for an old core and is 10× too slow.)
#pragma once

namespace filigree::internal {

struct GemmMatrix {
  const float* data = nullptr;
  long stride = 0;  // between rows as they are stored, row-major
  bool transposed = false;
};

// c = a b + beta c, on the calling thread alone: callers share work among threads themselves, in a way that
// does not depend on their number. a is rows × depth, b depth × cols (after transposition), c rows × cols,
// row-major.
// Sums come in another order without oneDNN.
void gemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta, float* c,
          long c_stride);

// The same by our own kernel, which takes oneDNN's place where there is none: a third to half as fast.
void plain_gemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta,
                float* c, long c_stride);

// Fails where oneDNN is not installed: for what is measured against it.
void require_onednn();

}  // namespace filigree::internal
