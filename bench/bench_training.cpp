// SPDX-License-Identifier: Apache-2.0
// Sparse training and inference next to dense GEMM, interleaved in one process.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/median.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/system.h"
#include "data/dataset.h"
#include "filigree/bench.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"
#include "filigree/session.h"
#include "kernels/gemm.h"
#include "kernels/load_panel.h"
#include "peers.h"
#include "train/cpu_training.h"
#include "train/topology.h"
#include "train/training.h"

namespace filigree {

using namespace internal;

namespace {

constexpr Index kBatch = 512;

// The network on its way through: dense weights, GEMM, bias and relu, in chunks that threads share.
class DenseInference {
 public:
  explicit DenseInference(const std::vector<Index>& network) {
    TrainOptions options;
    options.network.neurons = network;
    options.network.dense = true;
    layers_ = make_layers(options, false, 1);
  }

  std::vector<float> run(std::span<const std::uint8_t> inputs) const {
    const std::size_t features = layers_.front().inputs;
    const std::size_t rows = inputs.size() / features;
    const std::size_t classes = layers_.back().outputs;
    std::vector<float> result(rows * classes);
    const std::size_t chunks = (rows + kChunk - 1) / kChunk;
    parallel_for(chunks, 1, [&](std::size_t first, std::size_t last) {
      std::size_t widest = features;
      for (const TrainLayer& layer : layers_)
        widest = std::max(widest, static_cast<std::size_t>(layer.outputs));
      Buffer<float> from(widest * kChunk), to(widest * kChunk);
      for (std::size_t c = first; c < last; ++c) run_chunk(inputs, c * kChunk, rows, from, to, result);
    });
    return result;
  }

 private:
  static constexpr std::size_t kChunk = 512;  // samples at once; 256 and 1024 are no faster

  void run_chunk(std::span<const std::uint8_t> inputs, std::size_t first, std::size_t rows,
                 Buffer<float>& from, Buffer<float>& to, std::vector<float>& result) const {
    std::vector<Index> which(std::min(kChunk, rows - first));
    std::iota(which.begin(), which.end(), static_cast<Index>(first));
    load_panel(inputs, layers_.front().inputs, which, {}, kChunk, from.data());
    constexpr long kWidth = kChunk;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      const TrainLayer& layer = layers_[l];
      gemm(layer.outputs, kWidth, layer.inputs, {layer.value.data(), layer.inputs, false},
           {from.data(), kWidth, false}, 0, to.data(), kWidth);
      for (std::size_t o = 0; o < layer.bias.size(); ++o) {
        float* row = to.data() + o * kChunk;
        const float bias = layer.bias[o];
        if (l + 1 < layers_.size())
          for (std::size_t b = 0; b < kChunk; ++b) row[b] = std::max(row[b] + bias, 0.0f);
        else
          for (std::size_t b = 0; b < kChunk; ++b) row[b] += bias;
      }
      std::swap(from, to);
    }
    const std::size_t classes = layers_.back().outputs;
    for (std::size_t b = 0; b < which.size(); ++b)
      for (std::size_t c = 0; c < classes; ++c) result[(first + b) * classes + c] = from[c * kChunk + b];
  }

  std::vector<TrainLayer> layers_;
};

Plan sparse_plan(const std::vector<Index>& network, double sparsity) {
  TrainOptions options;
  options.network.neurons = network;
  options.network.sparsity = sparsity;
  std::vector<LayerArrays> arrays;
  for (const TrainLayer& layer : make_layers(options, false, 1)) {
    Layer made = to_layer(layer);
    LayerArrays& a = arrays.emplace_back();
    a.inputs = made.inputs();
    a.outputs = made.outputs();
    a.row_begin = std::move(made.weights.row_begin);
    a.column = std::move(made.weights.column);
    a.value = std::move(made.weights.value);
    a.bias = std::move(made.bias);
    a.activation = made.activation;
  }
  return compile(make_network(std::move(arrays)));
}

// Random bytes in the shape of MNIST, with labels: what is in them does not change the time.
Dataset random_images(Index rows, Index features, Index classes) {
  Dataset data;
  data.name = "random bytes";
  data.classes = classes;
  data.train.rows = rows;
  data.train.features = data.test.features = features;
  data.train.bytes = Buffer<std::uint8_t>(static_cast<std::size_t>(rows) * features);
  Random random(1);
  for (std::uint8_t& byte : data.train.bytes) byte = static_cast<std::uint8_t>(random.next());
  for (Index r = 0; r < rows; ++r) data.train.label.push_back(r % classes);
  return data;
}

TrainOptions step_options(std::vector<Index> network, double sparsity, bool dense) {
  TrainOptions options;
  options.network.neurons = std::move(network);
  options.network.sparsity = sparsity;
  options.network.dense = dense;
  options.evolution.rule = Evolve::none;
  options.run.batch = kBatch;
  options.learning.lr = 1e-3;  // random labels teach nothing
  return options;
}

// A trainer that is timed a few steps at a time.
class TimedSteps {
 public:
  TimedSteps(const Dataset& data, const TrainOptions& options) : trainer_(data, options) {
    rows_ = trainer_.shuffled_rows(0).rows();
    time(3);
  }

  double time(int steps) {  // seconds a step
    const std::size_t batch = trainer_.state().options.run.batch;
    const double started = seconds_now();
    for (int s = 0; s < steps; ++s) {
      if ((next_ + 1) * batch > rows_.size()) next_ = 0;
      trainer_.step(std::span(rows_).subspan(next_++ * batch, batch));
    }
    return (seconds_now() - started) / steps;
  }

  Offset connections() const {
    Offset sum = 0;
    for (const TrainLayer& layer : trainer_.state().layers) sum += static_cast<Offset>(layer.connections());
    return sum;
  }

 private:
  Training trainer_;
  std::vector<Index> rows_;
  std::size_t next_ = 0;
};

TrainingRow make_row(const char* task, double sparsity, Offset connections, std::vector<double> seconds,
                     std::vector<double> dense) {
  TrainingRow row;
  row.task = task;
  row.sparsity = sparsity;
  row.connections = connections;
  // Ratios of rounds that ran one after the other, so that a slow moment of the machine hits both.
  std::vector<double> ratios;
  for (std::size_t i = 0; i < seconds.size(); ++i) ratios.push_back(dense[i] / seconds[i]);
  row.speedup = median(ratios);
  row.slowest_speedup = *std::min_element(ratios.begin(), ratios.end());
  row.fastest_speedup = *std::max_element(ratios.begin(), ratios.end());
  row.milliseconds = 1e3 * median(std::move(seconds));
  return row;
}

constexpr double kDense = -1;  // in place of a sparsity

void bench_inference(const TrainingBenchOptions& options, const Observer& observer, TrainingBench& bench) {
  const std::vector<Index> network = {784, 512, 512, 512, 512, 512, 10};
  const Dataset images = random_images(options.inference_rows, 784, 10);
  const DenseInference dense(network);
  std::vector<Plan> plans;
  for (const double s : options.sparsities) plans.push_back(sparse_plan(network, s));
  std::vector<double> dense_seconds;
  std::vector<std::vector<double>> seconds(plans.size());
  for (int r = -1; r < options.repeat; ++r) {  // the first warms up
    observer.check_stop();
    observer.report("inference", r + 1, options.repeat + 1, "rounds");
    const auto time = [&](const auto& run) {
      const double started = seconds_now();
      run();
      return seconds_now() - started;
    };
    const double dense_time = time([&] { dense.run(images.train.bytes); });
    if (r >= 0) dense_seconds.push_back(dense_time);
    for (std::size_t p = 0; p < plans.size(); ++p) {
      const double sparse_time =
          time([&] { (void)plans[p].run(std::span<const std::uint8_t>(images.train.bytes)); });
      if (r >= 0) seconds[p].push_back(sparse_time);
    }
  }
  double weights = 0;
  for (std::size_t l = 0; l + 1 < network.size(); ++l)
    weights += static_cast<double>(network[l]) * network[l + 1];
  bench.rows.push_back(make_row("inference", kDense, weights, dense_seconds, dense_seconds));
  for (std::size_t p = 0; p < plans.size(); ++p)
    bench.rows.push_back(make_row("inference", options.sparsities[p],
                                  std::llround(weights * (1 - options.sparsities[p])), seconds[p],
                                  dense_seconds));
}

void bench_steps(const TrainingBenchOptions& options, const Observer& observer, TrainingBench& bench) {
  const std::vector<Index> network = {784, 256, 256, 256, 10};
  const Dataset data = random_images(20 * kBatch, 784, 10);
  TimedSteps dense(data, step_options(network, 0, true));
  std::vector<std::unique_ptr<TimedSteps>> sparse;
  for (const double s : options.sparsities)
    sparse.push_back(std::make_unique<TimedSteps>(data, step_options(network, s, false)));
  std::vector<double> dense_seconds;
  std::vector<std::vector<double>> seconds(sparse.size());
  for (int r = 0; r < options.repeat; ++r) {
    observer.check_stop();
    observer.report("training steps", r, options.repeat, "rounds");
    dense_seconds.push_back(dense.time(2));
    for (std::size_t p = 0; p < sparse.size(); ++p) seconds[p].push_back(sparse[p]->time(8));
  }
  bench.rows.push_back(make_row("step", kDense, dense.connections(), dense_seconds, dense_seconds));
  for (std::size_t p = 0; p < sparse.size(); ++p)
    bench.rows.push_back(
        make_row("step", options.sparsities[p], sparse[p]->connections(), seconds[p], dense_seconds));
  bench.dense_step_fma_rate =
      512.0 * (3.0 * dense.connections() - 784.0 * 256) / (median(std::move(dense_seconds)));
}

void bench_threads(const TrainingBenchOptions& options, TrainingBench& bench) {
  const int all = threads();
  const Session alone({.threads = 1});
  const Dataset data = random_images(20 * kBatch, 784, 10);
  for (const double sparsity : {0.9, 0.97, 0.99}) {
    TimedSteps steps(data, step_options({784, 256, 256, 256, 10}, sparsity, false));
    std::vector<double> ratios;
    for (int r = 0; r < options.repeat; ++r) {
      double one = 0;
      {
        const Session::Use use(alone);
        one = steps.time(20);
      }
      ratios.push_back(one / steps.time(20));
    }
    bench.thread_rows.push_back({sparsity, all, median(ratios)});
  }
}

void bench_memory(TrainingBench& bench) {
  TrainOptions options;
  options.network.neurons = {512, 512, 512};  // the second layer: the first one does not pass gradients on
  options.network.distribution = Distribution::uniform;
  options.run.batch = kBatch;
  const std::size_t slices = slices_for(options);
  const std::size_t dense = 3 * (512 * 512 + 512) * sizeof(float);
  for (const double sparsity : {0.9, 0.97, 0.99}) {
    options.network.sparsity = sparsity;
    const TrainLayer layer = make_layers(options, false, slices).back();
    bench.memory_rows.push_back({sparsity, dense, layer.parameter_bytes(), layer.workspace_bytes()});
  }
}

// How much of a run evolution takes, at the default interval.
void bench_evolution(const Observer& observer, TrainingBench& bench) {
  const Dataset data = random_images(12800, 784, 10);
  for (const double sparsity : {0.9, 0.97, 0.99}) {
    observer.check_stop();
    TrainOptions options;
    options.network.neurons = {784, 256, 256, 256, 10};
    options.network.sparsity = sparsity;
    options.run.epochs = 20;
    double seconds = 0, evolve = 0;
    const TrainOutcome outcome = run_training(data, options, {}, {{}, {}, observer.stop});
    for (const EpochReport& epoch : outcome.state.history) {
      seconds += epoch.seconds;
      evolve += epoch.evolve_seconds;
    }
    bench.evolution_rows.push_back({sparsity, evolve / seconds});
  }
}

void bench_wide(const TrainingBenchOptions& options, const Observer& observer, TrainingBench& bench) {
  struct Wide {
    std::vector<Index> network;
    double sparsity;
    Index batch;
  };
  for (const Wide& wide : {Wide{{4096, 4096, 4096, 10}, 0.99, 512}, Wide{{65536, 65536, 10}, 0.999, 64}}) {
    observer.check_stop();
    observer.report("wide layers", bench.wide_rows.size(), 2);
    const Dataset data = random_images(2 * wide.batch, wide.network.front(), 10);
    TrainOptions o = step_options(wide.network, wide.sparsity, false);
    o.network.distribution = Distribution::uniform;
    o.run.batch = wide.batch;
    TimedSteps steps(data, o);
    std::vector<double> seconds;
    for (int r = 0; r < std::min(5, options.repeat); ++r) seconds.push_back(steps.time(2));
    WideRow row;
    row.network = wide.network;
    row.sparsity = wide.sparsity;
    row.batch = wide.batch;
    row.connections = steps.connections();
    row.milliseconds = 1e3 * median(std::move(seconds));
    row.peak_memory_bytes = peak_memory_bytes();
    bench.wide_rows.push_back(std::move(row));
  }
}

// From which sparsity on the sparse one stays at least as fast as the dense one, interpolated; NaN if
// nowhere. A full layer may be as fast as dense again, where one of 20 % sparsity is not.
double break_even(const TrainingBench& bench, std::string_view task) {
  double found = std::nan("");
  const TrainingRow* before = nullptr;
  for (const TrainingRow& row : bench.rows) {
    if (row.task != task || row.sparsity < 0) continue;
    if (row.speedup < 1) {
      found = std::nan("");
    } else if (before == nullptr) {
      found = row.sparsity;
    } else if (before->speedup < 1) {
      const double share = (1 - before->speedup) / (row.speedup - before->speedup);
      found = before->sparsity + share * (row.sparsity - before->sparsity);
    }
    before = &row;
  }
  return found;
}

}  // namespace

TrainingBench bench_training(const TrainingBenchOptions& options, const Observer& observer) {
  TrainingBench bench;
  bench.processor = processor_name();
  bench.simd = simd_name();
  bench.threads = threads();
  DenseGemm yardstick(1024, threads());
  std::vector<double> rates(options.repeat);
  for (double& rate : rates) rate = yardstick.fma_rate();
  bench.dense_fma_rate = median(std::move(rates));
  bench_inference(options, observer, bench);
  bench_steps(options, observer, bench);
  bench_memory(bench);
  if (options.extras) {
    bench_threads(options, bench);
    bench_evolution(observer, bench);
    bench_wide(options, observer, bench);
  }
  bench.inference_break_even = break_even(bench, "inference");
  bench.step_break_even = break_even(bench, "step");
  return bench;
}

}  // namespace filigree
