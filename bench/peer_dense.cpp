// SPDX-License-Identifier: Apache-2.0
// Dense products on all threads as a yardstick: each thread multiplies its share of the rows.
#include <algorithm>

#include "base/parallel.h"
#include "base/system.h"
#include "kernels/gemm.h"
#include "peers.h"

namespace filigree::internal {

DenseGemm::DenseGemm(Index n, int threads) : n_(n), threads_(threads) {
  require_onednn();
  const auto size = static_cast<std::size_t>(n) * n;
  a_ = Buffer<float>(size);
  b_ = Buffer<float>(size);
  c_ = Buffer<float>(size);
  std::ranges::fill(a_, 0.5f);
  std::ranges::fill(b_, 0.25f);
  for (int r = 0; r < 2; ++r) fma_rate();
}

double DenseGemm::fma_rate() {
  const auto part = [&](int share, int shares) {
    const Index begin = n_ * share / shares, end = n_ * (share + 1) / shares;
    const auto first = static_cast<std::size_t>(begin) * n_;
    gemm(end - begin, n_, n_, {a_.data() + first, n_}, {b_.data(), n_}, 0.0f, c_.data() + first, n_);
  };
  const double start = seconds_now();
  if (threads_ == 1) {
    part(0, 1);
  } else {
    parallel_workers([&](int worker) { part(worker, threads_); });
  }
  const double seconds = seconds_now() - start;
  return static_cast<double>(n_) * n_ * n_ / seconds;
}

}  // namespace filigree::internal
