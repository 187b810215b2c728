#include "kernels/gemm.h"

#include <dnnl.h>
#include <omp.h>

#include "base/error.h"

namespace filigree {

namespace {

// oneDNN asks OpenMP for threads; the setting belongs to the calling thread.
struct OneThread {
  int before = omp_get_max_threads();
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }
};

}  // namespace

void gemm(long rows, long cols, long depth, const GemmMatrix& a, const GemmMatrix& b, float beta, float* c,
          long c_stride) {
  const OneThread one;
  const auto status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', rows, cols, depth, 1.0f,
                                 a.data, a.stride, b.data, b.stride, beta, c, c_stride);
  if (status != dnnl_success) fail("oneDNN: the product of {}×{} and {}×{} failed", rows, depth, depth, cols);
}

}  // namespace filigree
