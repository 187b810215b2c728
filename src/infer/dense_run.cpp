// SPDX-License-Identifier: Apache-2.0
#include "infer/dense_run.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "infer/panel_layer.h"

namespace filigree {

namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);

// Panels that a thread takes at a time. A panel of a 784-512-…-10 network takes 20 µs: four cost more than
// taking them does, and leave no thread waiting long at the end.
constexpr std::size_t kPanelsAtATime = 4;

void write_rows(const float* panel, std::size_t first, std::size_t count, const OutputMap& map,
                std::span<float> outputs) {
  const std::size_t width = map.output_of.size();
  for (std::size_t o = 0; o < width; ++o) {
    float* to = outputs.data() + first * width + o;
    const Index neuron = map.output_of[o];
    if (neuron < 0) {
      for (std::size_t b = 0; b < count; ++b) to[b * width] = map.constant[o];
    } else {
      const float* from = panel + static_cast<std::size_t>(neuron) * kLanes;
      for (std::size_t b = 0; b < count; ++b) to[b * width] = from[b];
    }
  }
}

}  // namespace

void run_dense(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
               const OutputMap& map, std::span<float> outputs, const Observer& observer) {
  std::vector<std::shared_ptr<const PlanLayer>> layers;
  Index widest = 0;
  for (Index l = 0; l < plan.layers(); ++l) {
    layers.push_back(plan.layer(l));
    widest = std::max(widest, layers.back()->outputs());
  }
  const std::size_t panels = (rows + kLanes - 1) / kLanes;
  std::atomic<std::size_t> next{0};
  parallel_workers((panels + kPanelsAtATime - 1) / kPanelsAtATime, [&](int worker) {
    if (next >= panels) return;
    const std::unique_ptr<PanelLoader> loader = make_loader();
    Buffer<float> y(static_cast<std::size_t>(widest) * kLanes), spare(y.size());
    PanelRange range;
    for (std::size_t p = next.fetch_add(kPanelsAtATime); p < panels; p = next.fetch_add(kPanelsAtATime)) {
      observer.check_stop();
      if (worker == 0)
        observer.report("run", static_cast<double>(p * kLanes), static_cast<double>(rows), "rows");
      for (std::size_t i = p; i < std::min(panels, p + kPanelsAtATime); ++i) {
        const std::size_t count = std::min(kLanes, rows - i * kLanes);
        const float* x = loader->load(i * kLanes, count);
        for (const auto& layer : layers) {
          run_panel_layer(*layer, 1.0f, x, y.data(), range);
          std::swap(y, spare);
          x = spare.data();
        }
        write_rows(x, i * kLanes, count, map, outputs);
      }
    }
  });
  observer.report("run", static_cast<double>(rows), static_cast<double>(rows), "rows");
}

}  // namespace filigree
