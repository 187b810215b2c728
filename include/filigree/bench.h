// Benchmarks with peers in the same process. Peers that were not built are left out and named in `missing`.
#pragma once

#include <string>
#include <vector>

#include "filigree/challenge.h"

namespace filigree {

struct BenchRow {
  std::string name;
  double seconds = 0;  // median
  double fastest = 0, slowest = 0;
  double rate = 0;
  bool right = true;  // the categories agree with the other rows'
};

struct ChallengeBench {
  Index neurons = 0, layers = 0, inputs = 0;
  Offset connections = 0;
  int threads = 0;
  double dense_fma_rate = 0;  // multiply-adds per second of dense GEMM, all threads
  std::vector<BenchRow> rows;
  std::vector<std::string> missing;
  std::string processor;
  Offset categories = 0;          // that the compiled engine found
  std::string verified = "none";  // see ChallengeResult
  Offset mismatches = 0;
  std::uint64_t peak_memory_bytes = 0;
};

struct ChallengeBenchOptions {
  ChallengeInputs source = {};
  int repeat = 5;
  bool peers = true;  // GraphBLAS and Eigen
  bool plain = true;  // the plain engine, which is slow at the largest sizes
  std::uint64_t memory_limit = 0;
};
ChallengeBench bench_challenge(const ChallengeBenchOptions& options, const Observer& observer = {});

struct KernelRow {
  std::string name;  // "spmm/n=1024,k=32"
  double connections_per_second = 0;
  double fastest = 0, slowest = 0;  // connections per second
  double share_of_dense = 0;
};

struct KernelBench {
  double dense_fma_rate = 0;  // one core; 0 if oneDNN was not built in
  std::vector<KernelRow> rows;
  std::string processor, simd;
};

struct KernelBenchOptions {
  std::vector<Index> neurons = {256, 1024, 4096, 16384};
  Index fan_in = 32;
  int repeat = 9;
};
// One core, all rows alive.
KernelBench bench_kernels(const KernelBenchOptions& options, const Observer& observer = {});

// Published figures for 60,000 inputs, to stand beside ours: seconds, 0 where none was published.
struct PublishedFigures {
  Index neurons = 0, layers = 0;
  Index categories = 0;     // how many the official network leaves non-zero
  double lagraph_cpu = 0;   // 20-core Xeon E5-2698v4, 40 threads (Davis 2020)
  double wang_v100 = 0;     // cuSPARSE with row filter (Wang et al. 2019)
  double xy_a6000 = 0;      // champion 2021
  double snicit_a6000 = 0;  // 2023, the best published
};
const std::vector<PublishedFigures>& published_figures();

}  // namespace filigree
