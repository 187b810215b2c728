// SPDX-License-Identifier: Apache-2.0
// The panel kernel on random layers with every row alive, interleaved with dense GEMM on the same core; then
// the products of sparse.h.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/median.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/system.h"
#include "filigree/bench.h"
#include "filigree/runtime.h"
#include "kernels/spmm.h"
#include "network/challenge.h"
#include "peers.h"
#include "products.h"
#include "recipes/challenge_setup.h"

namespace filigree {

using namespace internal;

namespace {

// `fan_in` distinct inputs per output, at random; weights random, or all the same.
CsrMatrix random_layer(Index neurons, Index fan_in, bool uniform) {
  Random random(neurons, fan_in);
  CsrMatrix w;
  w.rows = w.cols = neurons;
  std::vector<Index> pool(neurons);
  std::iota(pool.begin(), pool.end(), 0);
  for (Index r = 0; r < neurons; ++r) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(fan_in); ++i)
      std::swap(pool[i], pool[i + random.below(pool.size() - i)]);
    const std::ptrdiff_t first = w.column.size();
    w.column.insert(w.column.end(), pool.begin(), pool.begin() + fan_in);
    std::sort(w.column.begin() + first, w.column.end());
    for (Index e = 0; e < fan_in; ++e)
      w.value.push_back(uniform ? kChallengeWeight : static_cast<float>(random.normal()));
    w.row_begin.push_back(w.nnz());
  }
  return w;
}

// Square blocks of which about `kept` remain, at random, one in each row of blocks at least.
CsrMatrix block_layer(Index neurons, Index side, double kept) {
  Random random(neurons, side);
  CsrMatrix w;
  w.rows = w.cols = neurons;
  std::vector<std::uint8_t> there((neurons + side - 1) / side);
  for (Index r = 0; r < neurons; ++r) {
    if (r % side == 0) {
      for (std::uint8_t& t : there) t = random.uniform() < kept;
      there[random.below(there.size())] = 1;
    }
    for (Index c = 0; c < neurons; ++c) {
      if (!there[c / side]) continue;
      w.column.push_back(c);
      w.value.push_back(random.normal());
    }
    w.row_begin.push_back(w.nnz());
  }
  return w;
}

// Runs dense GEMM once: multiply-adds per second.
using Yardstick = std::function<double()>;

// Kernel and yardstick take turns, because the machine's speed drifts: the share is the median of their
// ratios.
KernelRow time_panel(std::string name, const CsrMatrix& w, int repeat, const Yardstick& dense,
                     std::vector<double>& dense_rates) {
  const PackedMatrix packed = pack(w.view());
  Buffer<float> x(static_cast<std::size_t>(w.cols) * kPanelRows);
  Buffer<float> y(static_cast<std::size_t>(w.rows) * kPanelRows);
  Random random(7);
  for (float& v : x) v = random.uniform();
  const std::vector<float> bias(w.rows, -0.3f);
  PanelRange range;
  const double work = static_cast<double>(packed.nnz) * kPanelRows;
  const int rounds = std::max(1, static_cast<int>(4e8 / work));
  std::vector<double> rates, shares;
  for (int r = 0; r <= repeat; ++r) {
    const double dense_rate = dense();
    const double start = seconds_now();
    for (int i = 0; i < rounds; ++i)
      spmm_panel(packed, {bias, {Activation::relu, kChallengeCap}}, x.data(), y.data(), range);
    const double rate = work * rounds / (seconds_now() - start);
    if (r == 0) continue;  // warms up
    rates.push_back(rate);
    shares.push_back(dense_rate > 0 ? rate / dense_rate : 0);
    dense_rates.push_back(dense_rate);
  }
  const auto [slowest, fastest] = std::ranges::minmax(rates);
  return {std::move(name), median(rates), fastest, slowest, median(shares)};
}

}  // namespace

KernelBench bench_kernels(const KernelBenchOptions& options, const Observer& observer) {
  if (options.repeat < 1) throw std::invalid_argument(fmt::format("repeat {} times", options.repeat));
  for (const Index n : options.neurons)
    if (n < options.fan_in || options.fan_in < 1)
      throw std::invalid_argument(
          fmt::format("{} connections per neuron among {} neurons", options.fan_in, n));
  KernelBench bench;
  bench.processor = processor_name();
  bench.simd = simd_name();
  DenseGemm gemm(1024, 1);
  const Yardstick dense = [&] { return gemm.fma_rate(); };
  std::vector<double> dense_rates;
  double done = 0;
  for (const Index n : options.neurons) {
    observer.check_stop();
    observer.report("kernels", done++, options.neurons.size(), "sizes");
    const auto add = [&](const char* kind, const CsrMatrix& w) {
      const auto name = fmt::format("{}/n={},k={}", kind, n, options.fan_in);
      bench.rows.push_back(time_panel(name, w, options.repeat, dense, dense_rates));
    };
    const CsrMatrix layer = random_layer(n, options.fan_in, false);
    add("spmm", layer);
    add("spmm-uniform", random_layer(n, options.fan_in, true));
    if (options.fan_in == kChallengeFanIn && (n & (n - 1)) == 0 && n >= 32 && n <= 65536)
      add("spmm-radix", RadixNet(n, 1, 1).layer(0)->weights);
    for (ProductRow& row : bench_products(layer, options.repeat, observer))
      bench.products.push_back(std::move(row));
  }
  for (const auto& [side, kept] : {std::pair<Index, double>{4, 0.1}, {8, 0.1}, {16, 0.1}, {1024, 1.0}}) {
    observer.check_stop();
    const auto name = kept < 1 ? fmt::format("spmm/n=1024,blocks={0}x{0},10%", side) : "spmm/n=1024,full";
    bench.rows.push_back(time_panel(name, block_layer(1024, side, kept), options.repeat, dense, dense_rates));
  }
  bench.dense_fma_rate = median(dense_rates);
  observer.report("kernels", done, done, "sizes");
  return bench;
}

}  // namespace filigree
