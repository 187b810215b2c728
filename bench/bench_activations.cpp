// SPDX-License-Identifier: Apache-2.0
// Zeros among activations, and rows with and without them.
#include <algorithm>

#include "base/error.h"
#include "base/median.h"
#include "base/system.h"
#include "data/data.h"
#include "filigree/bench.h"
#include "infer/panel_layer.h"
#include "infer/rows_loader.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

namespace {

constexpr std::size_t kLanes = kPanelRows;

// Counts zeros of every hidden neuron, panel by panel.
std::vector<ActivationBench::LayerRow> count_zeros(const Plan::Impl& plan, const DataRows& rows,
                                                   const Observer& observer) {
  const auto hidden = static_cast<std::size_t>(plan.layers->layers()) - 1;
  std::vector<ActivationBench::LayerRow> result(hidden);
  std::vector<std::vector<std::uint8_t>> ever(hidden);
  std::size_t widest = 1;
  for (Index l = 0; l < plan.layers->layers(); ++l)
    widest = std::max(widest, static_cast<std::size_t>(plan.layers->layer(l)->outputs()));
  Buffer<float> a(widest * kLanes), b(widest * kLanes);
  const std::size_t panels = rows.rows / kLanes;
  const std::unique_ptr<PanelLoader> loader = loader_of(rows, 0, panels * kLanes, plan)();
  PanelRange range;
  for (std::size_t p = 0; p < panels; ++p) {
    observer.check_stop();
    const float* x = loader->load(p * kLanes, kLanes);
    for (std::size_t l = 0; l < hidden; ++l) {
      const std::shared_ptr<const PlanLayer> layer = plan.layers->layer(l);
      run_panel_layer(*layer, 1.0f, x, a.data(), range);
      const std::size_t neurons = layer->outputs();
      ever[l].resize(neurons);
      for (std::size_t n = 0; n < neurons; ++n) {
        const auto zeros = std::count(a.data() + n * kLanes, a.data() + (n + 1) * kLanes, 0.0f);
        result[l].zero += static_cast<double>(zeros) / kLanes;
        result[l].idle += zeros == kPanelRows ? 1 : 0;
        ever[l][n] |= zeros < kPanelRows ? 1 : 0;
      }
      std::swap(a, b);
      x = b.data();
    }
  }
  for (std::size_t l = 0; l < hidden; ++l) {
    const double all = ever[l].size();
    result[l].neurons = ever[l].size();
    result[l].zero /= all * panels;
    result[l].idle /= all * panels;
    result[l].never = std::ranges::count(ever[l], 0) / all;
  }
  return result;
}

}  // namespace

ActivationBench bench_activations(const Network& network, const Data& data, int repeat,
                                  const Observer& observer) {
  const Dataset& dataset = data.impl().dataset;
  const DataRows& rows = dataset.test.rows > 0 ? dataset.test : dataset.train;
  const Plan plan = compile(network, {}, observer);
  const Plan::Impl& ready = plan.impl();
  if (ready.input_map.columns() != static_cast<std::size_t>(rows.features))
    fail("the network has {} inputs, but {} has {} features", ready.input_map.columns(), dataset.name,
         rows.features);
  if (rows.rows < kPanelRows) fail("{} has {} rows, but {} are needed", dataset.name, rows.rows, kPanelRows);
  if (ready.layers == nullptr) fail("{}: a mixture of experts is not taken row by row", network.describe());
  if (!RowPlan::possible(*ready.layers)) fail("a layer is too large to be taken row by row");
  ActivationBench bench{count_zeros(ready, rows, observer)};
  const RowPlan by_row(*ready.layers);
  const OutputMap map{ready.output_of, ready.output_constant};
  std::vector<float> outputs(kLanes * ready.output_of.size());
  for (const std::size_t count : {std::size_t{1}, std::size_t{4}, std::size_t{16}}) {
    std::vector<double> panel, whole, skip, ratios;
    for (int i = 0; i < repeat; ++i) {
      observer.check_stop();
      const std::size_t first = i * count % (rows.rows - count + 1);
      const MakeLoader loader = loader_of(rows, first, count, ready);
      const auto seconds = [](const auto& call) {
        const double start = seconds_now();
        call();
        return seconds_now() - start;
      };
      panel.push_back(seconds([&] { run_dense(*ready.layers, count, loader, map, outputs, {}); }));
      whole.push_back(seconds([&] { by_row.run(count, *loader(), map, outputs, false); }));
      skip.push_back(seconds([&] { by_row.run(count, *loader(), map, outputs, true); }));
      ratios.push_back(whole.back() / skip.back());
    }
    const auto [slowest, fastest] = std::ranges::minmax(ratios);
    bench.rows.push_back({static_cast<Index>(count), median(panel), median(whole), median(skip),
                          median(ratios), slowest, fastest});
  }
  for (std::size_t r = 0; !ready.adaptive->most_rows(); r = (r + 1) % rows.rows)
    ready.run(1, loader_of(rows, r, 1, ready), observer);
  bench.break_even = *ready.adaptive->most_rows();
  return bench;
}

}  // namespace filigree
