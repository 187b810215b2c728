// SPDX-License-Identifier: Apache-2.0
#include "filigree/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "api/device_choice.h"
#include "api/network_impl.h"
#include "api/plan_impl.h"
#include "base/error.h"
#include "compile/compile.h"
#include "compile/plan.h"
#include "filigree/options.h"
#include "infer/executor.h"

namespace filigree {

namespace {

// The maps of a network that was compiled before, followed by those of this compilation.
void compose_maps(const Network::Impl& outer, CompiledNetwork& inner) {
  if (outer.input_of.empty()) return;
  std::vector<Index> input_of = outer.input_of;
  for (Index& i : input_of)
    if (i >= 0) i = inner.input_of[static_cast<std::size_t>(i)];
  std::vector<Index> output_of = outer.output_of;
  std::vector<float> constant = outer.output_constant;
  for (std::size_t o = 0; o < output_of.size(); ++o) {
    if (output_of[o] < 0) continue;
    const auto at = static_cast<std::size_t>(output_of[o]);
    constant[o] = inner.output_constant[at];
    output_of[o] = inner.output_of[at];
  }
  inner.input_of = std::move(input_of);
  inner.output_of = std::move(output_of);
  inner.output_constant = std::move(constant);
}

CompiledNetwork compile_with_maps(const Network& network, const Observer& observer) {
  CompiledNetwork compiled = compile_network(*network.impl().source, observer);
  compose_maps(network.impl(), compiled);
  return compiled;
}

// Non-zero entries of dense rows.
InputRows sparse_rows(const Rows& dense) {
  InputRows rows;
  rows.cols = static_cast<Index>(dense.columns());
  rows.rows = static_cast<Index>(dense.rows());
  const auto row_of = [&](Index r) {
    return dense.floats().subspan(static_cast<std::size_t>(r) * dense.stride(), dense.columns());
  };
  std::size_t entries = 0;
  for (Index r = 0; r < rows.rows; ++r)
    for (const float v : row_of(r)) entries += v != 0;
  rows.column = Buffer<std::uint16_t>(entries);
  rows.value = Buffer<float>(std::max<std::size_t>(1, entries));  // empty would mean ones
  std::size_t at = 0;
  for (Index r = 0; r < rows.rows; ++r) {
    const auto row = row_of(r);
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (row[c] == 0) continue;
      rows.column[at] = static_cast<std::uint16_t>(c);
      rows.value[at++] = row[c];
    }
    rows.row_begin.push_back(static_cast<Offset>(at));
  }
  return rows;
}

// Turning dense rows into sparse ones pays only where the executor then drops rows that died: in deep
// networks that keep zeros, on rows that are mostly zeros. 10,000 digits through RadiX-Net 1024×120 take half
// the time of the dense run that way; through 784-512-512-512-512-512-10 with relu and no biases two to six
// times as long.
bool better_sparse(const Plan::Impl& plan, const Rows& rows) {
  constexpr Index kDeep = 16;
  constexpr std::size_t kLooks = 4096;
  if (plan.layers == nullptr || plan.device != nullptr || plan.scaled() || !plan.layers->keeps_zero() ||
      plan.layers->layers() < kDeep || plan.input_map.columns() > static_cast<std::size_t>(kMaxInputColumns))
    return false;
  if (rows.floats().empty()) return false;
  const std::size_t values = rows.rows() * rows.columns(), step = values / kLooks + 1;
  std::size_t looks = 0, zeros = 0;
  for (std::size_t i = 0; i < values; i += step, ++looks)
    zeros += rows.floats()[i / rows.columns() * rows.stride() + i % rows.columns()] == 0;
  return 4 * zeros > 3 * looks;
}

void run_sparse(const Plan::Impl& plan, const Rows& inputs, const OutputRows& outputs,
                const Observer& observer) {
  const std::size_t width = plan.output_of.size();
  for (std::size_t r = 0; r < inputs.rows(); ++r)
    for (std::size_t c = 0; c < inputs.columns(); ++c)
      if (const float v = inputs.floats()[r * inputs.stride() + c]; !std::isfinite(v))
        fail("input {} of row {} is {}", c, r, v);
  const InputRows rows = sparse_rows(inputs);
  for (std::size_t r = 0; r < inputs.rows(); ++r)
    for (std::size_t o = 0; o < width; ++o)
      outputs.row(r, width)[o] = plan.output_of[o] < 0 ? plan.output_constant[o] : 0.0f;
  RunOptions options;
  options.output = [&](Index row, const float* panel, Index lane) {
    float* out = outputs.row(static_cast<std::size_t>(row), width);
    for (std::size_t o = 0; o < width; ++o)
      if (plan.output_of[o] >= 0)
        out[o] = panel[static_cast<std::size_t>(plan.output_of[o]) * static_cast<std::size_t>(kPanelRows) +
                       static_cast<std::size_t>(lane)];
  };
  filigree::run(*plan.layers, rows, plan.input_map.all(), {}, options, observer);
}

void check_shapes(const Plan& plan, const Rows& inputs, const OutputRows& outputs) {
  const auto columns = static_cast<std::size_t>(plan.inputs()),
             width = static_cast<std::size_t>(plan.outputs());
  if (inputs.columns() != columns)
    throw std::invalid_argument(
        fmt::format("rows of {} values, but the network has {} inputs", inputs.columns(), columns));
  const std::size_t stride = outputs.stride == 0 ? width : outputs.stride;
  if (stride < width)
    throw std::invalid_argument(fmt::format("{} values from row to row for {} outputs", stride, width));
  const std::size_t room = outputs.values.size(), rows = inputs.rows();
  const bool fits = rows == 0 || (room >= width && (rows == 1 || stride <= (room - width) / (rows - 1)));
  if (!fits)
    throw std::invalid_argument(fmt::format(
        "room for {} values, but there are {} rows of {} outputs, {} apart", room, rows, width, stride));
}

}  // namespace

CompileResult compile_network(const Network& network, const Observer& observer) {
  CompiledNetwork compiled = compile_with_maps(network, observer);
  std::vector<CompilePass> passes;
  for (const PassReport& pass : compiled.passes)
    passes.push_back({pass.pass, pass.neurons, pass.connections});
  const Offset after = compiled.connections();
  auto source = std::make_shared<MemoryLayers>(std::move(compiled.layers), network.describe() + ", compiled");
  Network result(std::make_shared<Network::Impl>(Network::Impl{std::move(source),
                                                               std::move(compiled.input_of),
                                                               std::move(compiled.output_of),
                                                               std::move(compiled.output_constant),
                                                               network.impl().input_mean,
                                                               network.impl().input_scale,
                                                               network.impl().loss,
                                                               network.impl().class_label,
                                                               {},
                                                               network.impl().origin}));
  return {std::move(result), std::move(passes), compiled.original_connections, after};
}

namespace {

// As it is: for rows that go different ways.
Plan routed_plan(const Network& network, double threshold) {
  if (!chosen_devices().empty())
    fail("{}: exits that rows leave by and mixtures of experts run on the CPU: use --device cpu",
         network.describe());
  const Network::Impl& impl = network.impl();
  if (!impl.input_of.empty())
    fail("{}: a compiled network has neither exits nor mixtures", network.describe());
  auto routed =
      std::make_unique<RoutedPlan>(*impl.source, impl.exits, threshold, impl.loss != word(Loss::mse));
  std::vector<Index> inputs(static_cast<std::size_t>(network.inputs())), outputs(routed->outputs());
  std::iota(inputs.begin(), inputs.end(), 0);
  std::iota(outputs.begin(), outputs.end(), 0);
  std::vector<float> constants(outputs.size(), 0.0f);
  return Plan(std::make_shared<Plan::Impl>(
      Plan::Impl{nullptr, std::move(routed), InputMap(std::move(inputs), network.inputs()),
                 std::move(outputs), std::move(constants), impl.input_mean, impl.input_scale}));
}

}  // namespace

Plan compile(const Network& network, const Observer& observer, const PlanOptions& options) {
  if (!(options.exit_threshold >= 0 && options.exit_threshold <= 1))
    throw std::invalid_argument(
        fmt::format("an exit threshold of {}, but it must be from 0 to 1", options.exit_threshold));
  if (options.exit_threshold < 1 && network.impl().exits.empty())
    throw std::invalid_argument(
        fmt::format("{}: the network has no exits; train one with --exits", network.describe()));
  if (options.exit_threshold < 1 || network.impl().source->mixes())
    return routed_plan(network, options.exit_threshold);
  CompiledNetwork compiled = compile_with_maps(network, observer);
  InputMap map(std::move(compiled.input_of), compiled.layers.front().inputs());
  auto plan = std::make_shared<Plan::Impl>(
      Plan::Impl{plan_compiled(compiled, observer), nullptr, std::move(map), std::move(compiled.output_of),
                 std::move(compiled.output_constant), network.impl().input_mean, network.impl().input_scale,
                 network.impl().exits.size()});
  plan->device = device_executor();
  if (plan->device != nullptr) plan->device->prepare(*plan->layers);
  return Plan(std::move(plan));
}

Index Plan::inputs() const {
  return static_cast<Index>(impl_->input_map.columns());
}
Index Plan::outputs() const {
  return static_cast<Index>(impl_->output_of.size());
}

void Plan::run(const Rows& inputs, const OutputRows& outputs, const Observer& observer, RunWork* work) const {
  check_shapes(*this, inputs, outputs);
  if (inputs.rows() == 0) return;
  if (better_sparse(*impl_, inputs)) {
    if (work != nullptr) impl_->add_all(inputs.rows(), *work);
    return run_sparse(*impl_, inputs, outputs, observer);
  }
  for (std::size_t e = 0; e < inputs.value().size(); ++e)
    if (!std::isfinite(inputs.value()[e])) {
      const auto row = std::ranges::upper_bound(inputs.row_begin(), static_cast<Offset>(e));
      fail("input {} of row {} is {}", inputs.column()[e], row - inputs.row_begin().begin() - 1,
           inputs.value()[e]);
    }
  impl_->run(inputs.rows(), rows_loader(inputs, impl_->scaling(), impl_->input_map), outputs, observer, work);
}

std::vector<float> Plan::run(const Rows& inputs, const Observer& observer, RunWork* work) const {
  std::vector<float> result(inputs.rows() * impl_->output_of.size());
  run(inputs, result, observer, work);
  return result;
}

std::vector<float> Plan::run(std::span<const float> values, const Observer& observer, RunWork* work) const {
  return run(Rows(values, inputs()), observer, work);
}

std::vector<float> Plan::run(std::span<const std::uint8_t> values, const Observer& observer,
                             RunWork* work) const {
  return run(Rows(values, inputs()), observer, work);
}

}  // namespace filigree
