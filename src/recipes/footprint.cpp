// SPDX-License-Identifier: Apache-2.0
// What a network costs.
#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "base/system.h"
#include "data/data.h"
#include "filigree/compress.h"
#include "infer/rows_loader.h"
#include "network/network.h"

namespace filigree {

using namespace internal;

namespace {

Footprint::Timing time_batch(const Plan::Impl& plan, const DataRows& rows, Index batch, double seconds,
                             const Observer& observer) {
  const std::size_t size = std::min(batch, rows.rows);
  const auto last = rows.rows - size;  // the last place where a batch may begin
  std::vector<double> times;
  std::size_t first = 0;
  // A first call fetches weights and wakes threads up; it does not count.
  plan.run(size, loader_of(rows, first, size, plan), {});
  const double end = seconds_now() + seconds;
  while (times.size() < 5 || seconds_now() < end) {
    observer.check_stop();
    const MakeLoader loader = loader_of(rows, first, size, plan);
    const double start = seconds_now();
    plan.run(size, loader, {});
    times.push_back(seconds_now() - start);
    first = first + size > last ? 0 : first + size;
  }
  std::ranges::sort(times);
  return {static_cast<Index>(size), times[times.size() / 2], times.front(), times.back()};
}

}  // namespace

Footprint footprint(const Network& network, const Data& data, double seconds, const Observer& observer) {
  const Dataset& dataset = data.impl().dataset;
  Footprint result;
  for (Index l = 0; l < network.layers(); ++l) {
    const LayerView layer = network.layer(l);
    result.parameters += static_cast<Offset>(layer.value.size()) + layer.outputs;
  }
  const Network compiled = compile_network(network, observer).network;  // what is made of it further is quick
  result.accuracy = dataset.test.rows > 0 ? evaluate(compiled, data, {.ranks = false}, observer).accuracy
                                          : std::numeric_limits<double>::quiet_NaN();
  for (Index level = 0; level <= compiled.layers(); ++level) result.neurons.push_back(compiled.width(level));
  const Plan plan = compile(compiled, {}, observer);
  constexpr Index kBatches[] = {1, 32, 512};
  const bool enough = dataset.test.rows >= kBatches[2] || dataset.test.rows >= dataset.train.rows;
  const DataRows& rows = enough ? dataset.test : dataset.train;
  for (const Index batch : kBatches)
    result.timings.push_back(time_batch(plan.impl(), rows, batch, seconds, observer));
  const std::uint64_t widest = std::ranges::max(result.neurons);
  result.memory_bytes = plan.impl().layers->bytes() + plan.impl().adaptive->bytes() +
                        static_cast<std::uint64_t>(threads()) * 2 * widest * kPanelRows * sizeof(float);
  return result;
}

}  // namespace filigree
