#include "infer/row_run.h"

#include <algorithm>

#include "base/system.h"
#include "kernels/activation.h"

namespace filigree {

namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);
constexpr Index kMostOutputs = 65536;  // of lists, whose outputs are 16-bit

// The fastest of a few: other work on the machine only ever adds.
template <typename Call>
double fastest_seconds(const Call& call) {
  constexpr int kCalls = 4;
  double fastest = 1e30;
  for (int i = 0; i < kCalls; ++i) {
    const double start = seconds_now();
    call();
    fastest = std::min(fastest, seconds_now() - start);
  }
  return fastest;
}

}  // namespace

RowPlan::RowPlan(const ResidentPlan& plan) {
  widest_ = static_cast<std::size_t>(plan.inputs());
  for (Index l = 0; l < plan.layers(); ++l) {
    std::shared_ptr<const PlanLayer> layer = plan.layer(l);
    RowMatrix weights = row_matrix(unpack(layer->weights));
    widest_ = std::max(widest_, weights.padded_rows());
    layers_.push_back({std::move(layer), std::move(weights)});
  }
}

std::size_t RowPlan::bytes() const {
  std::size_t sum = 0;
  for (const RowLayer& layer : layers_) sum += layer.weights.bytes();
  return sum;
}

void RowPlan::run(std::size_t rows, PanelLoader& loader, const OutputMap& map, std::span<float> outputs,
                  bool skip) const {
  Buffer<float> x(widest_), y(widest_);
  Buffer<std::uint32_t> active(widest_);
  for (std::size_t r = 0; r < rows; ++r) {
    loader.load_row(r, x.data());
    for (const RowLayer& layer : layers_) {
      const PlanLayer& plan = *layer.plan;
      const bool relu = plan.activation == Activation::relu;
      row_pass(layer.weights, {plan.bias, relu ? Activation::relu : Activation::identity, plan.cap, 1.0f},
               x.data(), y.data(), active.data(), skip);
      if (!relu)
        apply_activation(plan.activation, plan.slope, {y.data(), static_cast<std::size_t>(plan.outputs())});
      std::swap(x, y);
    }
    float* const to = outputs.data() + r * map.output_of.size();
    for (std::size_t o = 0; o < map.output_of.size(); ++o)
      to[o] = map.output_of[o] < 0 ? map.constant[o] : x[static_cast<std::size_t>(map.output_of[o])];
  }
}

void AdaptiveRun::prepare(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
                          const OutputMap& map, std::span<float> outputs) {
  by_row_ = std::make_unique<RowPlan>(plan);
  const double panel = fastest_seconds([&] { run_dense(plan, rows, make_loader, map, outputs, {}); });
  const double each =
      fastest_seconds([&] { by_row_->run(rows, *make_loader(), map, outputs); }) / static_cast<double>(rows);
  break_even_ = static_cast<std::size_t>(std::min(panel / each, static_cast<double>(kLanes)));
  ready_ = true;
}

void AdaptiveRun::operator()(const ResidentPlan& plan, std::size_t rows, const MakeLoader& make_loader,
                             const OutputMap& map, std::span<float> outputs, const Observer& observer) {
  if (rows > 0 && rows < kLanes) {
    bool narrow = true;
    for (Index l = 0; l < plan.layers(); ++l) narrow = narrow && plan.layer(l)->outputs() <= kMostOutputs;
    if (narrow) {
      std::call_once(once_, [&] { prepare(plan, rows, make_loader, map, outputs); });
      if (rows <= break_even_) {
        observer.check_stop();
        by_row_->run(rows, *make_loader(), map, outputs);
        return;
      }
    }
  }
  run_dense(plan, rows, make_loader, map, outputs, observer);
}

}  // namespace filigree
