// oneDNN's dense GEMM as a yardstick. (Debian's OpenBLAS takes recent Xeons for an old core and is 10× too
// slow.)
#include <dnnl.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/system.h"
#include "peers.h"

namespace filigree {

double dense_fma_rate(Index n, int threads, int repeat) {
  const int threads_before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  Buffer<float> a(size), b(size), c(size);
  std::ranges::fill(a, 0.5f);
  std::ranges::fill(b, 0.25f);
  std::vector<double> rates;
  for (int r = 0; r < repeat + 2; ++r) {  // two rounds to warm up
    const double start = seconds_now();
    if (dnnl_sgemm('N', 'N', n, n, n, 1.0f, a.data(), n, b.data(), n, 0.0f, c.data(), n) != dnnl_success)
      fail("oneDNN: sgemm of {0}×{0} failed", n);
    const double seconds = seconds_now() - start;
    if (r >= 2) rates.push_back(static_cast<double>(n) * static_cast<double>(size) / seconds);
  }
  omp_set_num_threads(threads_before);
  std::ranges::sort(rates);
  return rates[rates.size() / 2];
}

}  // namespace filigree
