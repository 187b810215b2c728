// SPDX-License-Identifier: Apache-2.0
#include "infer/dense_run.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "infer/panel_layer.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;

// Rows of a panel: a half where threads would be left without any.
std::size_t rows_of_panel(std::size_t rows) {
  const std::size_t workers = threads();
  return workers > 1 && rows > kLanes / 2 && (rows + kLanes - 1) / kLanes < workers ? kLanes / 2 : kLanes;
}

// Panels that a thread takes at a time. A panel of a 784-512-…-10 network takes 20 µs: four cost more than
// taking them does. Fewer where threads would be left without any, or wait long for the last.
std::size_t panels_at_a_time(std::size_t panels) {
  constexpr std::size_t kMost = 4;
  return std::clamp<std::size_t>(panels / (4 * static_cast<std::size_t>(threads())), 1, kMost);
}

}  // namespace

void run_dense(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
               const OutputMap& map, const OutputRows& outputs, const Observer& observer) {
  std::vector<std::shared_ptr<const PlanLayer>> layers;
  Index widest = 0;
  for (Index l = 0; l < plan.layers(); ++l) {
    layers.push_back(plan.layer(l));
    widest = std::max(widest, layers.back()->outputs());
  }
  const std::size_t lanes = rows_of_panel(rows), panels = (rows + lanes - 1) / lanes;
  const std::size_t width = map.output_of.size(), stride = outputs.stride == 0 ? width : outputs.stride;
  const std::size_t at_a_time = panels_at_a_time(panels);
  std::atomic<std::size_t> next{0};
  parallel_workers((panels + at_a_time - 1) / at_a_time, [&](int worker) {
    if (next >= panels) return;
    const std::unique_ptr<PanelLoader> loader = make_loader();
    Buffer<float> y(widest * kLanes), spare(y.size());
    PanelRange range;
    for (std::size_t p = next.fetch_add(at_a_time); p < panels; p = next.fetch_add(at_a_time)) {
      observer.check_stop();
      if (worker == 0) observer.report("run", p * lanes, rows, "rows");
      for (std::size_t i = p; i < std::min(panels, p + at_a_time); ++i) {
        const std::size_t count = std::min(lanes, rows - i * lanes);
        const float* x = loader->load(i * lanes, count);
        for (const auto& layer : layers) {
          run_panel_layer(*layer, 1.0f, x, y.data(), range, count);
          std::swap(y, spare);
          x = spare.data();
        }
        store_panel(x, count, map, outputs.row(i * lanes, width), stride);
      }
    }
  });
  observer.report("run", rows, rows, "rows");
}

}  // namespace filigree::internal
