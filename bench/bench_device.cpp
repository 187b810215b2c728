// SPDX-License-Identifier: Apache-2.0
// The challenge on a CUDA device, every engine of it, next to what arithmetic and traffic allow.
#include <algorithm>

#include "base/median.h"
#include "base/session.h"
#include "base/system.h"
#include "filigree/bench.h"
#include "filigree/runtime.h"
#include "infer/device_executor.h"
#include "recipes/challenge_setup.h"

namespace filigree {

using namespace internal;

namespace {

constexpr double kLaunch = 3e-6;  // seconds from one launch to the next in a stream
constexpr double kLaunches = 3;   // of a layer: clear the marks, compute, count

// A layer as a prediction sees it.
struct LayerWork {
  double rows = 0, connections = 0, inputs = 0, outputs = 0;
  double bytes = 0;  // of the layer, from the host
};

double fused_layer(const GpuFigures& gpu, const LayerWork& w) {
  const double products = w.rows * w.connections;
  const double loads = 4 * products;  // of activations; the connections are shared by 512 rows
  const double memory = 4 * w.rows * (w.inputs + w.outputs);
  return kLaunches * kLaunch +
         std::max({products / gpu.fma_rate, loads / gpu.load_bytes, memory / gpu.memory_bytes});
}

// The sums are written, read and written once more.
double spmm_layer(const GpuFigures& gpu, const LayerWork& w) {
  return fused_layer(gpu, w) + kLaunch + 8 * w.rows * w.outputs / gpu.memory_bytes;
}

// Every weight of the full matrix, zero or not; two loads from shared memory for each product.
double tiled_layer(const GpuFigures& gpu, const LayerWork& w) {
  const double products = w.rows * w.inputs * w.outputs;
  return 3 * kLaunch + std::max(products / gpu.fma_rate, 8 * products / gpu.load_bytes);
}

// Work on the device and copies from the host overlap.
template <typename Cost>
double predict(const GpuFigures& gpu, const std::vector<LayerWork>& layers, double input_bytes,
               const Cost& cost) {
  double compute = 0, copy = input_bytes / gpu.copy_bytes;
  for (const LayerWork& layer : layers) {
    compute += cost(gpu, layer);
    copy += layer.bytes / gpu.copy_bytes;
  }
  return std::max(compute, copy);
}

// Rows are left behind every four layers: until then those that died are computed with.
std::vector<LayerWork> plain_work(const std::vector<Offset>& live, const ChallengeData& data,
                                  Offset connections) {
  const std::size_t layers = data.network.layers();
  std::vector<LayerWork> work;
  double rows = data.images.rows;
  const double each = static_cast<double>(connections) / layers;
  const double neurons = data.network.inputs();
  for (std::size_t l = 0; l < layers; ++l) {
    work.push_back({rows, each, neurons, neurons, 2 * each + 8 * neurons});
    if (l % 4 == 3) rows = live[l];
  }
  return work;
}

std::vector<LayerWork> compiled_work(const PlanSource& plan, const RunResult& run) {
  std::vector<LayerWork> work;
  const double ended = run.live.size();
  for (Index l = 0; l < plan.layers(); ++l) {
    const auto layer = plan.layer(l);
    const double computed = run.distinct_rows[l];
    const double nnz = layer->weights.nnz;
    // Rows that survive the first layers go through them once more (see infer/categories.h).
    work.push_back({l < 8 ? computed + ended : computed, nnz, static_cast<double>(layer->inputs()),
                    static_cast<double>(layer->outputs()), 6 * nnz + 8.0 * layer->outputs()});
  }
  return work;
}

struct DeviceRunKind {
  const char* name;
  Engine engine;
  DeviceKernel kernel;
  bool filter;
};
constexpr DeviceRunKind kKinds[] = {
    {"fused, compiled", Engine::compiled, DeviceKernel::fused, true},
    {"fused", Engine::plain, DeviceKernel::fused, true},
    {"fused, no filter", Engine::plain, DeviceKernel::fused, false},
    {"spmm", Engine::plain, DeviceKernel::spmm, true},
    {"spmm, no filter", Engine::plain, DeviceKernel::spmm, false},
    {"spgemm", Engine::plain, DeviceKernel::spgemm, true},
    {"spgemm, no filter", Engine::plain, DeviceKernel::spgemm, false},
    {"spgemm-kept", Engine::plain, DeviceKernel::spgemm_kept, true},
    {"spgemm-kept, no filter", Engine::plain, DeviceKernel::spgemm_kept, false},
    {"tiled", Engine::plain, DeviceKernel::tiled, true},
    {"tiled, no filter", Engine::plain, DeviceKernel::tiled, false},
};

}  // namespace

// NVIDIA's data sheets and white papers: multiprocessors × 64 or 128 lanes × highest clock; first caches of
// 64 bytes a clock (T4) or 128; PCIe 3, 3, 4, 5 with 16 lanes as far as copies get.
const std::vector<GpuFigures>& gpu_figures() {
  static const std::vector<GpuFigures> figures = {
      {"T4", 40 * 64 * 1.59e9, 40 * 64 * 1.59e9, 320e9, 12e9},
      {"V100", 80 * 64 * 1.53e9, 80 * 128 * 1.53e9, 900e9, 12e9},
      {"A100", 108 * 64 * 1.41e9, 108 * 128 * 1.41e9, 2039e9, 25e9},
      {"H100", 132 * 128 * 1.98e9, 132 * 128 * 1.98e9, 3350e9, 50e9},
  };
  return figures;
}

DeviceBench bench_device(const DeviceBenchOptions& options, const Observer& observer) {
  const ChallengeData data = load_challenge(options.source, false, observer);
  DeviceBench bench;
  bench.neurons = data.network.inputs();
  bench.layers = data.network.layers();
  bench.inputs = data.images.rows;
  const auto limit = memory_limit_or_usual(options.memory_limit) / 2;
  const Observer quiet{{}, observer.stop};
  const PreparedEngine compiled = prepare_engine(Engine::compiled, data.network, limit, observer);
  RunOptions run_options;
  run_options.merge_rows = true;
  run_options.bits = data.bits.bits.empty() ? nullptr : &data.bits;
  const double start = seconds_now();
  const RunResult truth = find_categories(compiled.plan, data.images, run_options, quiet).run;
  bench.cpu_seconds = seconds_now() - start;
  bench.categories = truth.live.size();
  const auto input_bytes =
      static_cast<double>(data.images.nnz()) * (data.images.binary() ? 2 : 6) + 8.0 * data.images.rows;
  const auto plain = plain_work(truth.live_rows, data, compiled.connections);
  for (const GpuFigures& gpu : gpu_figures()) {
    if (compiled.plan.compiled != nullptr)
      bench.predicted_compiled.push_back(
          predict(gpu, compiled_work(*compiled.plan.compiled, truth), input_bytes, fused_layer));
    bench.predicted_plain.push_back(predict(gpu, plain, input_bytes, fused_layer));
    bench.predicted_spmm.push_back(predict(gpu, plain, input_bytes, spmm_layer));
    bench.predicted_tiled.push_back(predict(gpu, plain, input_bytes, tiled_layer));
  }
  if (current_session().devices.empty()) return bench;

  bench.device = Session::current().device_name();
  const PreparedEngine as_is = prepare_engine(Engine::plain, data.network, limit, observer);
  for (const DeviceRunKind& kind : kKinds) {
    observer.check_stop();
    observer.report(kind.name, 0, 1);
    try {
      const CategoryPlan& plan = kind.engine == Engine::plain ? as_is.plan : compiled.plan;
      const auto device = device_executor({kind.kernel});
      prepare(plan, *device);
      RunOptions here;
      here.filter = kind.filter;
      here.merge_rows = true;
      here.device = device.get();
      std::vector<double> seconds;
      bool right = true;
      for (int r = 0; r < options.repeat + 1; ++r) {
        const double began = seconds_now();
        right = find_categories(plan, data.images, here, quiet).run.live == truth.live && right;
        if (r > 0 || options.repeat == 1) seconds.push_back(seconds_now() - began);  // the first warms up
        if (options.repeat == 1) break;
      }
      const auto [fastest, slowest] = std::ranges::minmax(seconds);
      const double middle = median(seconds);
      bench.rows.push_back({kind.name, middle, fastest, slowest,
                            static_cast<double>(bench.inputs) * compiled.connections / middle, right});
      bench.right = bench.right && right;
    } catch (const Cancelled&) {
      throw;
    } catch (const Error& error) {  // too little memory, mostly: the others go on
      bench.failed.push_back(std::string(kind.name) + ": " + error.what());
    }
    observer.report(kind.name, 1, 1);
  }
  return bench;
}

}  // namespace filigree
