// SPDX-License-Identifier: Apache-2.0
// Benchmarks with peers in the same process. Peers that were not built are left out and named in `missing`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "filigree/challenge.h"
#include "filigree/export.h"
#include "filigree/options.h"
#include "filigree/train.h"

#pragma GCC visibility push(default)
namespace filigree {

struct BenchRow {
  std::string name;
  double seconds = 0;  // median
  double fastest = 0, slowest = 0;
  double rate = 0;
  bool right = true;           // the categories agree with the other rows'
  double prepare_seconds = 0;  // once before: packing, or compiling and packing; of our engines
};

struct ChallengeBench {
  Index neurons = 0, layers = 0, inputs = 0;
  Offset connections = 0;
  int threads = 0;
  double dense_fma_rate = 0;  // multiply-adds per second of dense GEMM, all threads
  std::vector<BenchRow> rows;
  std::vector<std::string> missing;
  std::string processor;
  Offset categories = 0;  // that the compiled engine found
  Verified verified = Verified::none;
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

// A product of sparse.h on one core, 32 columns of a dense matrix: the median time, and medians of ratios.
struct ProductRow {
  std::string name;  // "spmm"
  Index neurons = 0;
  Offset entries = 0;
  double seconds = 0;
  double times_copy = 0;  // of the time in which as many bytes are copied as must move at least
  double over_eigen = 0, over_graphblas = 0;  // times as fast as they are; 0: they have none, or are not here
};

struct KernelBench {
  double dense_fma_rate = 0;  // one core
  std::vector<KernelRow> rows;
  std::vector<ProductRow> products;
  std::string processor, simd;
};

struct KernelBenchOptions {
  std::vector<Index> neurons = {256, 1024, 4096, 16384};
  Index fan_in = 32;
  int repeat = 9;
};
// One core, all rows alive.
KernelBench bench_kernels(const KernelBenchOptions& options, const Observer& observer = {});

struct TrainingRow {
  std::string task;     // "inference" or "step"
  double sparsity = 0;  // negative: the dense baseline
  Offset connections = 0;
  double milliseconds = 0;  // median
  double speedup = 0;       // against dense in the same round, median
  double slowest_speedup = 0, fastest_speedup = 0;
};
struct ThreadRow {
  double sparsity = 0;
  int threads = 0;
  double speedup = 0;  // of a training step against one thread
};
struct MemoryRow {  // of a 512×512 layer
  double sparsity = 0;
  std::size_t dense_bytes = 0;      // weights, gradient, momentum
  std::size_t parameter_bytes = 0;  // the same with the indices of connections
  std::size_t workspace_bytes = 0;  // what the passes hold besides
};
struct EvolutionRow {
  double sparsity = 0;
  double share = 0;  // of the training time, at the default interval
};
struct WideRow {
  std::vector<Index> network;
  double sparsity = 0;
  Index batch = 0;
  Offset connections = 0;
  double milliseconds = 0;  // a step
  std::uint64_t peak_memory_bytes = 0;
};

struct TrainingBench {
  double dense_fma_rate = 0;       // of GEMM 1024³, all threads
  double dense_step_fma_rate = 0;  // of the dense training step as a whole
  std::vector<TrainingRow> rows;
  double inference_break_even = 0, step_break_even = 0;  // sparsity; NaN: none
  std::vector<ThreadRow> thread_rows;
  std::vector<MemoryRow> memory_rows;
  std::vector<EvolutionRow> evolution_rows;
  std::vector<WideRow> wide_rows;
  int threads = 0;
  std::string processor, simd;
};

struct TrainingBenchOptions {
  std::vector<double> sparsities = {0.9, 0.97, 0.99};
  Index inference_rows = 10000;
  int repeat = 25;
  bool extras = true;  // threads, topology updates, wide layers
};
// inference: 784-512-512-512-512-512-10; step: 784-256-256-256-10, batch 512; both
// interleaved with dense GEMM.
TrainingBench bench_training(const TrainingBenchOptions& options, const Observer& observer = {});

// One line of the accuracy table: a network on a data set at a sparsity, several seeds.
struct AccuracyRow {
  std::string data, network, method;  // method: "best", "ertl", "ertl, random growth", "ertl, no topology
                                      // updates"
  double sparsity = 0;                // negative: dense
  Offset connections = 0;
  std::vector<double> accuracy;  // test, last epoch, one per seed; or another metric
  double mean = 0;
  double seconds = 0;    // of all seeds
  double published = 0;  // Ertl's table 4, where he has this; else 0
  double asked = 0;      // what we set out to reach; 0: nothing
};
struct AccuracyBenchOptions {
  std::string mnist, fashion, higgs;  // directories and file; empty: left out (fashion: Debian's)
  int seeds = 3;
  std::int64_t epochs = 0;  // 0: the preset's
  bool ertl = true;         // his method next to ours
  bool dense = true;
  Watch metric =
      Watch::automatic;  // what is shown of the test rows, by evaluate()'s names; automatic: accuracy
};
// Calls `row` with each line as it is finished.
std::vector<AccuracyRow> bench_accuracy(const AccuracyBenchOptions& options,
                                        const std::function<void(const AccuracyRow&)>& row,
                                        const Observer& observer = {});

// A dense network made smaller by every method, the results timed interleaved.
struct CompressionRow {
  std::string method;  // "dense", "magnitude", …, "sparse from scratch"
  double target = 0;   // share of the weights that was to go
  Offset weights = 0;  // that are left, biases not counted
  std::vector<Index> neurons = {};
  std::uint64_t file_bytes = 0;
  double load_seconds = 0;            // of the file, the median
  double accuracy = 0;                // test
  std::vector<double> seconds = {};   // of calls of 1, 32 and 512 rows, medians of interleaved rounds
  std::vector<double> speedups = {};  // against "magnitude" of the same target, medians of ratios
  double predicted_seconds = 0;       // fssl: by the time model, for 512 rows; 0: none
  double prediction_error = 0;
  double training_seconds = 0;
};
struct CompressionBenchOptions {
  DataOptions data = {};
  std::vector<Index> network = {};  // features-512-512-classes if empty
  std::int64_t epochs = 20;         // of the dense network, and of each method
  double target = 0.92;
  double sparse_target = 0.97;  // at which magnitude, lottery and sparse from scratch are compared
  double input_dropout = 0.1;
  std::uint64_t seed = 1;
};
std::vector<CompressionRow> bench_compression(const CompressionBenchOptions& options,
                                              const std::function<void(const std::string&)>& begin,
                                              const Observer& observer = {});

// What relus leave at zero, and what skipping it brings where rows come one by one.
struct ActivationBench {
  struct LayerRow {
    Index neurons = 0;
    double zero = 0;   // share of the neurons' values over all rows
    double idle = 0;   // share of neurons that are zero in all 32 rows of a panel
    double never = 0;  // share of neurons that are zero in every row
  };
  std::vector<LayerRow> layers;  // hidden ones
  struct Row {
    Index rows = 0;
    double panel_seconds = 0, whole_seconds = 0, skip_seconds = 0;  // medians: panels; rows; rows that skip
    double speedup = 0;                                             // by skipping, median of ratios
    double slowest_speedup = 0, fastest_speedup = 0;
  };
  std::vector<Row> rows = {};
  Index break_even = 0;  // rows of a call up to which a plan takes them one by one
};
ActivationBench bench_activations(const Network& network, const Data& data, int repeat,
                                  const Observer& observer = {});

// A network as a program of its own, interleaved with the library, one row and 32 rows at a time.
struct ExportBench {
  std::vector<CodeForm> forms;  // of the layers
  Offset connections = 0;
  double compile_seconds = 0;  // by c++ -O2
  std::uint64_t program_bytes = 0;
  struct Row {
    Index rows = 0;
    double library_seconds = 0, program_seconds = 0;  // medians
    double speedup = 0;                               // the median of their ratios
    double slowest_speedup = 0, fastest_speedup = 0;
  };
  std::vector<Row> rows = {};
  double largest_difference = 0;  // of the outputs, relative to the largest of the row
};
// Rows are those of the test part, or drawn by chance without data. Throws Error if there is no c++.
ExportBench bench_export(const Network& network, const std::optional<Data>& data, int repeat,
                         const Observer& observer = {});

// Published figures for 60,000 inputs, to compare with ours: seconds, 0 where none was published.
struct PublishedFigures {
  Index neurons = 0, layers = 0;
  Index categories = 0;      // how many the official network leaves non-zero
  double lagraph_cpu = 0;    // 20-core Xeon E5-2698v4, 40 threads (Davis 2020)
  double wang_v100 = 0;      // cuSPARSE with row filter (Wang et al. 2019)
  double xy_a6000 = 0;       // champion 2021
  double snicit_a6000 = 0;   // 2023, the best published
  double cusparse_a100 = 0;  // cuSPARSE called from C++ (PNNL)
  double uiuc_a100 = 0;      // champion 2020, run again by PNNL
  double snig_2080ti = 0;    // SNIG 2020, one card
  double gokhale_t4 = 0;     // Gokhale et al. 2020
};
const std::vector<PublishedFigures>& published_figures();

// What a GPU's data sheet says: all that a prediction knows of it.
struct GpuFigures {
  std::string name;
  double fma_rate = 0;      // 32-bit multiply-adds a second
  double load_bytes = 0;    // a second, from the first cache of all multiprocessors
  double memory_bytes = 0;  // a second, from memory
  double copy_bytes = 0;    // a second, from the host
};
const std::vector<GpuFigures>& gpu_figures();

// The seconds that a run on a GPU takes at least: for each GPU of gpu_figures(), a prediction by arithmetic
// and traffic (docs/GPU.md), not a measurement.
struct DeviceBench {
  Index neurons = 0, layers = 0, inputs = 0;
  Offset categories = 0;
  bool right = true;  // every run found the CPU's categories
  std::vector<double> predicted_compiled, predicted_plain, predicted_spmm, predicted_tiled;
  std::string device;               // what was measured on; empty: nothing was
  std::vector<BenchRow> rows;       // measured there
  std::vector<std::string> failed;  // engines that could not run, and why
  double cpu_seconds = 0;           // the compiled engine here, one run
};
struct DeviceBenchOptions {
  ChallengeInputs source = {};
  int repeat = 5;
  std::uint64_t memory_limit = 0;
};
// Runs on the device of the current Session; in a CPU session it only predicts.
DeviceBench bench_device(const DeviceBenchOptions& options, const Observer& observer = {});

}  // namespace filigree
#pragma GCC visibility pop
