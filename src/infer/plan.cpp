// SPDX-License-Identifier: Apache-2.0
#include "infer/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/error.h"
#include "base/rows.h"
#include "base/session.h"
#include "compile/compile.h"
#include "compile/plan.h"
#include "infer/executor.h"

namespace filigree {

using namespace internal;

namespace {

// Non-zero entries of dense rows.
InputRows sparse_rows(const Rows& dense) {
  InputRows rows;
  rows.cols = dense.columns();
  rows.rows = dense.rows();
  const auto row_of = [&](Index r) { return dense.floats().subspan(r * dense.stride(), dense.columns()); };
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
    rows.row_begin.push_back(at);
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
  if (plan.layers == nullptr || plan.device != nullptr || !plan.facts.scaling.none() ||
      !plan.layers->keeps_zero() || plan.layers->layers() < kDeep ||
      plan.input_map.columns() > static_cast<std::size_t>(kMaxInputColumns))
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
  const Session::Use use(plan.session);
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
    float* out = outputs.row(row, width);
    for (std::size_t o = 0; o < width; ++o)
      if (plan.output_of[o] >= 0)
        out[o] = panel[static_cast<std::size_t>(plan.output_of[o]) * kPanelRows + lane];
  };
  filigree::run(*plan.layers, rows, plan.input_map.all(), {}, options, observer);
}

void check_shapes(const Plan& plan, const Rows& inputs, const OutputRows& outputs) {
  const std::size_t columns = plan.inputs(), width = plan.outputs();
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

namespace {

// As it is: for rows that go different ways.
std::shared_ptr<Plan::Impl> routed_plan(const Network& network, double threshold) {
  const Network::Parts& parts = network.parts();
  if (!current_session().devices.empty())
    fail_for("device", "{}: exits that rows leave by and mixtures of experts run on the CPU",
             network.describe());
  if (network.compiled()) fail("{}: a compiled network has neither exits nor mixtures", network.describe());
  std::vector<Index> inputs(network.inputs());
  std::vector<Index> outputs(network.outputs());
  std::iota(inputs.begin(), inputs.end(), 0);
  std::iota(outputs.begin(), outputs.end(), 0);
  std::vector<float> constants(outputs.size(), 0.0f);
  const bool by_share = !parts.facts.loss || output_link(*parts.facts.loss) == OutputLink::softmax;
  auto plan = std::make_shared<Plan::Impl>();
  plan->routed = std::make_unique<RoutedPlan>(*parts.layers, parts.exits, threshold, by_share);
  plan->input_map = {std::move(inputs), network.inputs()};
  plan->output_of = std::move(outputs);
  plan->output_constant = std::move(constants);
  plan->facts = parts.facts;
  plan->exits = parts.exits.size();
  return plan;
}

std::shared_ptr<Plan::Impl> chain_plan(const Network& network, const Observer& observer) {
  Compiled compiled = compile_exactly(network, observer);
  const Network::Parts& parts = compiled.network.parts();
  auto plan = std::make_shared<Plan::Impl>();
  plan->layers = plan_compiled(all_layers(compiled.network), compiled.facts, observer);
  plan->input_map = {parts.ports.input_of, compiled.network.width(0)};
  plan->output_of = parts.ports.output_of;
  plan->output_constant = parts.ports.output_constant;
  plan->facts = parts.facts;
  plan->exits = network.parts().exits.size();
  plan->device = device_executor();
  return plan;
}

}  // namespace

Plan compile(const Network& network, const PlanOptions& options, const Observer& observer) {
  if (!(options.exit_threshold >= 0 && options.exit_threshold <= 1))
    throw std::invalid_argument(
        fmt::format("an exit threshold of {}, but it must be from 0 to 1", options.exit_threshold));
  if (options.exit_threshold < 1 && network.parts().exits.empty())
    throw std::invalid_argument(fmt::format("{}: the network has no exits", network.describe()));
  const bool routed = options.exit_threshold < 1 || network.parts().layers->mixes();
  auto plan = routed ? routed_plan(network, options.exit_threshold) : chain_plan(network, observer);
  if (plan->device != nullptr) plan->device->prepare(*plan->layers);
  return Plan(std::move(plan));
}

void Plan::Impl::add_all(std::size_t rows, RunWork& work) const {
  for (Index l = 0; l < layers->layers(); ++l)
    work.connections += layers->layer(l)->weights.nnz * static_cast<Offset>(rows);
  work.rows_by_exit.resize(exits + 1, 0);
  work.rows_by_exit.back() += static_cast<Offset>(rows);
}

void Plan::Impl::run(std::size_t rows, const MakeLoader& make_loader, const OutputRows& outputs,
                     const Observer& observer, RunWork* work) const {
  const Session::Use use(session);
  const OutputMap map{output_of, output_constant};
  if (routed == nullptr && work != nullptr) add_all(rows, *work);
  if (routed == nullptr && device == nullptr)
    return (*adaptive)(*layers, rows, make_loader, map, outputs, observer);
  // These write rows without gaps.
  const std::size_t width = output_of.size();
  const bool gaps = outputs.stride != 0 && outputs.stride != width;
  std::vector<float> own(gaps ? rows * width : 0);
  const std::span<float> to = gaps ? std::span<float>(own) : outputs.values.first(rows * width);
  if (routed != nullptr) {
    RunWork unasked;
    routed->run(rows, make_loader, to, work == nullptr ? unasked : *work, observer);
  } else {
    device->run_dense(*layers, rows, make_loader, map, to, observer);
  }
  for (std::size_t r = 0; gaps && r < rows; ++r)
    std::copy_n(to.data() + r * width, width, outputs.row(r, width));
}

std::vector<float> Plan::Impl::run(std::size_t rows, const MakeLoader& make_loader, const Observer& observer,
                                   RunWork* work) const {
  std::vector<float> outputs(rows * output_of.size());
  run(rows, make_loader, outputs, observer, work);
  return outputs;
}

Index Plan::inputs() const {
  return impl_->input_map.columns();
}
Index Plan::outputs() const {
  return impl_->output_of.size();
}
const NetworkFacts& Plan::facts() const {
  return impl_->facts;
}

void Plan::run(const Rows& given, const OutputRows& outputs, const Observer& observer, RunWork* work) const {
  check_shapes(*this, given, outputs);
  if (given.rows() == 0) return;
  const PlainRows plain(given);
  const Rows& inputs = plain.rows();
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
  impl_->run(inputs.rows(), rows_loader(inputs, impl_->facts.scaling, impl_->input_map), outputs, observer,
             work);
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
