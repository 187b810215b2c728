// SPDX-License-Identifier: Apache-2.0
// What each layer costs, next to a dense one in the same run, and what bounds it.
#include "filigree/analyze.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/buffer.h"
#include "base/error.h"
#include "base/median.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/system.h"
#include "compile/compile.h"
#include "compile/plan.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"
#include "filigree/session.h"
#include "infer/panel_layer.h"
#include "io/atomic_file.h"
#include "kernels/activation.h"
#include "kernels/gemm.h"
#include "network/network.h"
#include "report/plot.h"

namespace filigree {

using namespace internal;

namespace {

constexpr double kOperations = 2;  // of a connection for a row: a multiplication and an addition

Buffer<float> random_floats(std::size_t count, std::uint64_t seed) {
  Buffer<float> values(count);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) values.data()[i] = static_cast<float>(random.uniform()) + 0.01F;
  return values;
}

// Calls that take turns, each at least five times; the median of each.
std::vector<double> in_turns(const std::vector<std::function<void()>>& calls, double seconds,
                             const Observer& observer) {
  std::vector<std::vector<double>> times(calls.size());
  for (const auto& call : calls) call();  // fetches weights and wakes threads up
  const double end = seconds_now() + seconds * static_cast<double>(calls.size());
  while (times.front().size() < 5 || seconds_now() < end) {
    observer.check_stop();
    for (std::size_t c = 0; c < calls.size(); ++c) {
      const double start = seconds_now();
      calls[c]();
      times[c].push_back(seconds_now() - start);
    }
  }
  std::vector<double> medians;
  medians.reserve(times.size());
  for (std::vector<double>& each : times) medians.push_back(median(std::move(each)));
  return medians;
}

// Full weights in row-major order, and what a dense engine does with them: a product on all threads, then
// bias and activation while the outputs are in the caches.
class DenseLayer {
 public:
  explicit DenseLayer(const Layer& layer)
      : inputs_(layer.inputs()), outputs_(layer.outputs()), bias_(layer.bias), activation_(layer.activation) {
    weights_ = Buffer<float>(static_cast<std::size_t>(inputs_) * outputs_);
    std::fill_n(weights_.data(), weights_.size(), 0.0f);
    for (Index r = 0; r < outputs_; ++r)
      for (Offset e = layer.weights.row_begin[r]; e < layer.weights.row_begin[r + std::size_t{1}]; ++e)
        weights_.data()[static_cast<std::size_t>(r) * inputs_ + layer.weights.column[e]] =
            layer.weights.value[e];
  }

  // x: rows × inputs, y: rows × outputs. A single row is divided by outputs, more by rows.
  void run(Index rows, const float* x, float* y) const {
    const long depth = inputs_, width = outputs_;
    if (rows < 2 * threads()) {
      parallel_for(width, std::max<std::size_t>(64, width / threads()),
                   [&](std::size_t begin, std::size_t end) {
                     const long count = static_cast<long>(end - begin);
                     gemm(rows, count, depth, {x, depth}, {weights_.data() + begin * depth, depth, true}, 0,
                          y + begin, width);
                   });
      finish(rows, y);
      return;
    }
    parallel_for(rows, (rows + threads() - 1) / threads(), [&](std::size_t begin, std::size_t end) {
      gemm(static_cast<long>(end - begin), width, depth, {x + begin * depth, depth},
           {weights_.data(), depth, true}, 0, y + begin * width, width);
      finish(static_cast<Index>(end - begin), y + begin * width);
    });
  }

 private:
  void finish(Index rows, float* y) const {
    for (Index r = 0; r < rows; ++r, y += outputs_) {
      for (Index o = 0; o < outputs_; ++o) {
        const float z = y[o] + bias_[o];
        y[o] = activation_.is(Activation::relu) ? std::min(std::max(z, 0.0f), activation_.cap) : z;
      }
      if (!activation_.in_epilogue()) apply_activation(activation_, {y, static_cast<std::size_t>(outputs_)});
    }
  }
  Index inputs_, outputs_;
  const std::vector<float>& bias_;
  ActivationFunction activation_;
  Buffer<float> weights_;
};

// One layer of a plan on panels of random numbers.
class SparseLayer {
 public:
  explicit SparseLayer(const Layer& layer) : plan_(make_plan_layer(layer, facts_of(layer, 0))) {}

  const PlanLayer& plan() const { return plan_; }
  void run(Index rows, const float* x, float* y) const {
    const std::size_t panels = (static_cast<std::size_t>(rows) + kPanelRows - 1) / kPanelRows;
    parallel_for(panels, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p) {
        PanelRange range;
        run_panel_layer(plan_, 1, x + p * plan_.inputs() * kPanelRows, y + p * plan_.outputs() * kPanelRows,
                        range, std::min<std::size_t>(kPanelRows, rows - p * kPanelRows));
      }
    });
  }

 private:
  PlanLayer plan_;
};

// ---- structure

// The largest side of square blocks, of those that start at its multiples, that are full or empty; 1: none.
Index block_side(const CsrMatrix& matrix) {
  for (const Index side : {16, 8, 4, 2}) {
    if (matrix.rows % side != 0 || matrix.cols % side != 0) continue;
    bool full = true;
    for (Index r = 0; full && r < matrix.rows; ++r) {
      const std::span<const Index> columns = matrix.view().row_columns(r);
      const std::span<const Index> first = matrix.view().row_columns(r - r % side);
      full = std::ranges::equal(columns, first) && columns.size() % side == 0;
      for (std::size_t e = 0; full && e < columns.size(); e += side)
        full = columns[e] % side == 0 && columns[e + side - 1] == columns[e] + side - 1;
    }
    if (full && matrix.nnz() > 0) return side;
  }
  return 1;
}

// How many of four inputs in a row each neuron has, if it is the same number everywhere; 0: it is not.
Index of_four(const CsrMatrix& matrix) {
  if (matrix.cols % 4 != 0) return 0;
  Index same = 0;
  for (Index r = 0; r < matrix.rows; ++r) {
    std::vector<Index> count(matrix.cols / 4, 0);
    for (const Index c : matrix.view().row_columns(r)) ++count[c / 4];
    for (const Index n : count) {
      if (same == 0) same = n;
      if (n != same || n == 0) return 0;
    }
  }
  return same;
}

std::string structure_of(const Layer& layer, const LayerInfo& info, const PlanLayer& plan) {
  if (is_full(layer.weights.view())) return "full";
  if (const Index side = block_side(layer.weights); side > 1) return fmt::format("blocks of {0} × {0}", side);
  if (const Index n = of_four(layer.weights); n > 0) return fmt::format("{} of 4 inputs", n);
  const double shared =
      plan.weights.nnz == 0 ? 0 : static_cast<double>(plan.weights.shared_connections()) / plan.weights.nnz;
  if (shared >= 0.5)
    return fmt::format("{:.0f} % of the connections in neurons with equal inputs", 100 * shared);
  if (info.distinct_neurons < info.outputs)
    return fmt::format("{} of {} neurons are distinct", info.distinct_neurons, info.outputs);
  return "none";
}

std::string kernel_of(const PlanLayer& plan) {
  const PackedMatrix& packed = plan.weights;
  const double shared = packed.nnz == 0 ? 0 : static_cast<double>(packed.shared_connections()) / packed.nnz;
  std::string text =
      shared >= 0.5 ? "panels, inputs loaded once for eight neurons" : "panels, four neurons at once";
  if (packed.tiles.size() > 1) text += fmt::format(", {} tiles", packed.tiles.size());
  if (packed.uniform != 0) text += ", one weight";
  return text;
}

// ---- advice

std::vector<std::string> advice_for(const LayerAnalysis& layer, const LayerInfo& info) {
  std::vector<std::string> advice;
  const BatchTiming& large = layer.timings.back();
  constexpr double kSparse = 0.9;
  if (layer.sparsity < kSparse && layer.connections > 1000 && layer.structure != "full") {
    const double left = (1 - kSparse) / std::max(1e-9, 1 - layer.sparsity);
    advice.push_back(fmt::format(
        "prune it to 90 %: about {:.1f} × as fast as now, if its time follows its connections", 1 / left));
  }
  if (layer.structure == "full" && layer.connections > 1000)
    advice.emplace_back("prune it: nothing of it is sparse (filigree prune)");
  if (large.speed_up() < 1 && layer.structure != "full")
    advice.push_back(fmt::format("a dense product would be {:.1f} × as fast at {} rows", 1 / large.speed_up(),
                                 large.rows));
  if (info.distinct_neurons < info.outputs)
    advice.push_back(fmt::format("merge {} neurons that compute what others do (filigree compile)",
                                 info.outputs - info.distinct_neurons));
  if (info.unread_inputs > 0)
    advice.push_back(
        fmt::format("{} of its inputs are read by nobody (filigree compile)", info.unread_inputs));
  if (layer.structure == "none" && layer.compute_share < 0.5 && layer.connections > 10000)
    advice.emplace_back(
        "whole neurons or blocks instead of single weights would load less for each product (prune --method "
        "fssl or blocks)");
  return advice;
}

// ---- the machine

double dense_rate(double seconds, const Observer& observer) {
  constexpr long kSide = 512;
  const Buffer<float> a = random_floats(kSide * kSide, 1), b = random_floats(kSide * kSide, 2);
  std::vector<Buffer<float>> results;
  results.reserve(static_cast<std::size_t>(threads()));
  for (int t = 0; t < threads(); ++t) results.emplace_back(kSide * kSide);
  const std::vector<double> time = in_turns(
      {[&] {
        parallel_for(results.size(), 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t t = begin; t < end; ++t)
            gemm(kSide, kSide, kSide, {a.data(), kSide}, {b.data(), kSide}, 0, results[t].data(), kSide);
        });
      }},
      seconds, observer);
  return kOperations * kSide * kSide * kSide * threads() / time.front();
}

double copy_rate(double seconds, const Observer& observer) {
  constexpr std::size_t kFloats = std::size_t{1} << 24;  // beyond every cache
  const Buffer<float> from = random_floats(kFloats, 3);
  Buffer<float> to(kFloats);
  const std::vector<double> time =
      in_turns({[&] {
                 parallel_for(kFloats, kFloats / threads(), [&](std::size_t begin, std::size_t end) {
                   std::copy_n(from.data() + begin, end - begin, to.data() + begin);
                 });
               }},
               seconds, observer);
  return 2 * sizeof(float) * kFloats / time.front();
}

// ---- measurements

LayerAnalysis analyze_layer(const Network& network, Index l, const AnalyzeOptions& options,
                            const Analysis& machine, const Observer& observer) {
  const LayerPointer layer = network.parts().layers->layer(l);  // the others need not be made for it
  const LayerInfo info = layer_info(network, l);
  const SparseLayer sparse(*layer);
  const DenseLayer dense(*layer);
  LayerAnalysis result;
  result.inputs = layer->inputs();
  result.outputs = layer->outputs();
  result.connections = layer->weights.nnz();
  const double all = static_cast<double>(result.inputs) * result.outputs;
  result.sparsity = 1 - result.connections / all;
  result.structure = structure_of(*layer, info, sparse.plan());
  result.kernel = kernel_of(sparse.plan());
  for (const Index rows : options.batches) {
    const std::size_t padded = (static_cast<std::size_t>(rows) + kPanelRows - 1) / kPanelRows * kPanelRows;
    const Buffer<float> x = random_floats(padded * result.inputs, 4);
    Buffer<float> y(padded * result.outputs), z(static_cast<std::size_t>(rows) * result.outputs);
    const std::vector<double> times = in_turns(
        {[&] { sparse.run(rows, x.data(), y.data()); }, [&] { dense.run(rows, x.data(), z.data()); }},
        options.seconds / 2, observer);
    result.timings.push_back({rows, times[0], times[1]});
  }
  const BatchTiming& large = result.timings.back();
  const double bytes = static_cast<double>(sparse.plan().bytes()) +
                       sizeof(float) * 1.0 * large.rows * (result.inputs + result.outputs);
  result.compute_share = kOperations * result.connections * large.rows / large.seconds / machine.dense_rate;
  result.memory_share = bytes / large.seconds / machine.copy_rate;
  result.advice = advice_for(result, info);
  return result;
}

// The whole network: as a plan runs it, and as a chain of dense products.
std::vector<BatchTiming> analyze_network(const Network& network, const AnalyzeOptions& options,
                                         const Observer& observer) {
  const Plan plan = compile(network, {}, observer);
  const std::vector<LayerPointer> layers = all_layers(network);
  std::vector<DenseLayer> dense;
  Index widest = network.inputs();
  bool chain = network.exits().empty() && !network.compiled();
  for (const LayerPointer& layer : layers) {
    chain &= !layer->gate.has_value();
    widest = std::max(widest, layer->outputs());
    if (chain) dense.emplace_back(*layer);
  }
  if (!chain) return {};
  std::vector<BatchTiming> timings;
  for (const Index rows : options.batches) {
    const std::size_t count = rows;
    const Buffer<float> x = random_floats(count * network.inputs(), 5);
    std::vector<float> y(count * network.outputs());
    Buffer<float> a(count * widest), b(count * widest);
    const auto run_dense = [&] {
      const float* from = x.data();
      for (std::size_t l = 0; l < dense.size(); ++l) {
        float* const to = (l % 2 == 0 ? a : b).data();
        dense[l].run(rows, from, to);
        from = to;
      }
    };
    const std::vector<double> times =
        in_turns({[&] { plan.run(Rows(std::span(x.data(), x.size()), network.inputs()), y); }, run_dense},
                 options.seconds, observer);
    timings.push_back({rows, times[0], times[1]});
  }
  return timings;
}

// "a, b and c"
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  return text;
}

std::string summary_of(const std::vector<BatchTiming>& timings) {
  if (timings.empty()) return "";
  std::vector<std::string> factors, rows;
  for (const BatchTiming& timing : timings) {
    factors.push_back(fmt::format("{:.2g} ×", timing.speed_up()));
    rows.push_back(std::to_string(timing.rows));
  }
  return fmt::format("runs {} as fast as dense 32-bit floats here at {} row{}", listed(factors), listed(rows),
                     timings.size() == 1 && timings.front().rows == 1 ? "" : "s");
}

}  // namespace

Analysis analyze(const Network& network, const AnalyzeOptions& options, const Observer& observer) {
  constexpr Index kMostRows = 1 << 20;
  if (options.batches.empty()) throw std::invalid_argument("no batches to measure");
  for (const Index rows : options.batches)
    if (rows < 1 || rows > kMostRows)
      throw std::invalid_argument(fmt::format("a batch of {} rows, but it is from 1 to {}", rows, kMostRows));
  if (!(options.seconds > 0 && options.seconds <= 3600))
    throw std::invalid_argument(fmt::format("{} seconds a measurement", options.seconds));
  Analysis result;
  result.processor = processor_name();
  result.threads = threads();
  result.dense_rate = dense_rate(options.seconds, observer);
  result.copy_rate = copy_rate(options.seconds, observer);
  result.network = analyze_network(network, options, observer);
  if (!result.network.empty())
    for (Index l = 0; l < network.layers(); ++l) {
      observer.report("layers", l, network.layers());
      result.layers.push_back(analyze_layer(network, l, options, result, observer));
    }
  result.summary = summary_of(result.network);
  return result;
}

void plot_roofline(const Analysis& analysis, const std::filesystem::path& path) {
  Plot plot;
  plot.title = fmt::format("What bounds each layer ({}, {} threads)", analysis.processor, analysis.threads);
  plot.x_name = "operations a byte";
  plot.y_name = "billion operations/s";
  double least = 1, most = 1;
  std::vector<PlotPoint> points;
  for (std::size_t l = 0; l < analysis.layers.size(); ++l) {
    const LayerAnalysis& layer = analysis.layers[l];
    if (layer.connections == 0) continue;
    const double rate = layer.compute_share * analysis.dense_rate,
                 bytes = layer.memory_share * analysis.copy_rate;
    points.push_back({rate / bytes, rate / 1e9, rate / 1e9, rate / 1e9, fmt::format("layer {}", l + 1)});
    least = std::min(least, rate / bytes);
    most = std::max(most, rate / bytes);
  }
  const double corner = analysis.dense_rate / analysis.copy_rate;
  const auto roof = [&](double x) {
    const double y = std::min(analysis.dense_rate, x * analysis.copy_rate) / 1e9;
    return PlotPoint{x, y, y, y};
  };
  least = std::min(least, corner / 4);
  most = std::max(most, corner * 4);
  plot.lines.push_back({"copying, dense products", "#8a8f94", {roof(least), roof(corner), roof(most)}});
  plot.lines.push_back({"layers", "#1f6f8b", std::move(points), false});
  plot.legend_below = true;
  write_file(path, to_svg(plot));
}

}  // namespace filigree
