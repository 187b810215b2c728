// SPDX-License-Identifier: Apache-2.0
#include "compile/plan.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/parallel.h"
#include "kernels/grain.h"

namespace filigree::internal {

PlanLayer make_plan_layer(const Layer& layer, const LayerFacts& facts, const PackOptions& options) {
  PlanLayer plan;
  plan.weights = pack(layer.weights.view(), options);
  plan.bias = layer.bias;
  plan.activation = layer.activation;
  plan.zero_stays_zero = zero_stays_zero(layer);
  plan.saturation_stays = facts.saturation_stays;
  // A sum of n products of non-negative numbers is off by at most n roundings of itself, here and there; four
  // more cover the summed weights, the scale and its product. Inputs that are read alike are added up before
  // the first layer, which is at most the original fan-in once more.
  constexpr float kRounding = std::numeric_limits<float>::epsilon() / 2;
  plan.slack = static_cast<float>(largest_fan_in(layer) + 2 * facts.fan_in + 4) * kRounding * 1.01f;
  return plan;
}

PlanLayer make_ordered_layer(const Layer& layer, const DistinctRows& distinct, const DistinctRows* before,
                             const LayerFacts& facts) {
  Layer ordered;
  ordered.activation = layer.activation;
  ordered.weights.rows = distinct.first.size();
  ordered.weights.cols = before == nullptr ? layer.inputs() : static_cast<Index>(before->first.size());
  const CsrView w = layer.weights.view();
  for (const Index r : distinct.first) {
    for (const Index c : w.row_columns(r))
      ordered.weights.column.push_back(before == nullptr ? c : before->kind_of[c]);
    const auto values = w.row_values(r);
    ordered.weights.value.insert(ordered.weights.value.end(), values.begin(), values.end());
    ordered.weights.row_begin.push_back(ordered.weights.nnz());
    ordered.bias.push_back(layer.bias[r]);
  }
  // One tile: within it the packing keeps any order of columns, repeated ones included.
  return make_plan_layer(ordered, facts, {std::max<Index>(1, ordered.weights.cols)});
}

ResidentPlan::ResidentPlan(std::vector<std::shared_ptr<const PlanLayer>> layers)
    : layers_(std::move(layers)),
      keeps_zero_(std::ranges::all_of(layers_, [](const auto& layer) { return layer->zero_stays_zero; })) {}

std::size_t ResidentPlan::bytes() const {
  std::size_t sum = 0;
  for (const auto& layer : layers_) sum += layer->bytes();
  return sum;
}

std::shared_ptr<const PlanLayer> StreamedPlan::layer(Index l) const {
  const LayerPointer layer = source_.layer(l);
  return std::make_shared<PlanLayer>(make_plan_layer(*layer, facts_of(*layer, kNoCap)));
}

std::unique_ptr<ResidentPlan> plan_as_is(const LayerSource& source, std::size_t limit,
                                         const Observer& observer) {
  const std::size_t layers = source.layers();
  std::vector<std::shared_ptr<const PlanLayer>> packed(layers);
  const StreamedPlan stream(source);
  const auto batch = 4 * static_cast<std::size_t>(threads());
  std::size_t bytes = 0;
  for (std::size_t l = 0; l < layers; l += batch) {
    observer.check_stop();
    observer.report("load", l, layers, "layers");
    const std::size_t end = std::min(layers, l + batch);
    parallel_for(end - l, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = l + first; i < l + last; ++i) packed[i] = stream.layer(i);
    });
    for (std::size_t i = l; i < end; ++i) bytes += packed[i]->bytes();
    if (bytes > limit) return nullptr;
  }
  observer.report("load", layers, layers, "layers");
  return std::make_unique<ResidentPlan>(std::move(packed));
}

std::unique_ptr<ResidentPlan> plan_compiled(std::vector<LayerPointer> layers,
                                            std::span<const LayerFacts> facts, const Observer& observer) {
  const std::size_t count = layers.size();
  std::vector<std::shared_ptr<const PlanLayer>> packed(count);
  std::atomic<std::size_t> next{0};
  const std::size_t tasks = connections_of(layers) / kTaskWork;
  parallel_workers(tasks, [&](int worker) {
    for (std::size_t l = next++; l < count; l = next++) {
      observer.check_stop();
      if (worker == 0) observer.report("pack", l, count, "layers");
      packed[l] = std::make_shared<PlanLayer>(make_plan_layer(*layers[l], facts[l]));
      layers[l].reset();
    }
  });
  observer.report("pack", count, count, "layers");
  return std::make_unique<ResidentPlan>(std::move(packed));
}

}  // namespace filigree::internal
