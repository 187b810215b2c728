// oneDNN's dense GEMM as a yardstick. (Debian's OpenBLAS takes recent Xeons for an old core and is 10× too
// slow.)
#include <dnnl.h>
#include <omp.h>

#include <algorithm>

#include "base/error.h"
#include "base/system.h"
#include "peers.h"

namespace filigree {

DenseGemm::DenseGemm(Index n, int threads) : n_(n), threads_(threads) {
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  a_ = Buffer<float>(size);
  b_ = Buffer<float>(size);
  c_ = Buffer<float>(size);
  std::ranges::fill(a_, 0.5f);
  std::ranges::fill(b_, 0.25f);
  for (int r = 0; r < 2; ++r) fma_rate();
}

double DenseGemm::fma_rate() {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(threads_);
  const double start = seconds_now();
  const auto status =
      dnnl_sgemm('N', 'N', n_, n_, n_, 1.0f, a_.data(), n_, b_.data(), n_, 0.0f, c_.data(), n_);
  const double seconds = seconds_now() - start;
  omp_set_num_threads(threads_before);
  if (status != dnnl_success) fail("oneDNN: sgemm of {0}×{0} failed", n_);
  return static_cast<double>(n_) * static_cast<double>(n_) * static_cast<double>(n_) / seconds;
}

}  // namespace filigree
