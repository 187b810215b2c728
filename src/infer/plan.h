// SPDX-License-Identifier: Apache-2.0
// A network made ready to run here: what a public Plan holds.
#pragma once

#include <memory>
#include <vector>

#include "filigree/plan.h"
#include "filigree/session.h"
#include "infer/device_executor.h"
#include "infer/routed_run.h"
#include "infer/row_run.h"
#include "network/network.h"

namespace filigree {

struct Plan::Impl {
  Session session = Session::current();            // that it runs in
  std::unique_ptr<internal::ResidentPlan> layers;  // or:
  std::unique_ptr<internal::RoutedPlan> routed;
  internal::InputMap input_map;
  std::vector<Index> output_of;  // see PortMap
  std::vector<float> output_constant;
  NetworkFacts facts;
  std::size_t exits = 0;  // of the network, taken by none if the plan is not routed
  std::shared_ptr<internal::DeviceExecutor> device;  // null: the CPU
  std::unique_ptr<internal::AdaptiveRun> adaptive = std::make_unique<internal::AdaptiveRun>();

  // Every row through every layer, but for those that leave early.
  void run(std::size_t rows, const internal::MakeLoader& make_loader, const OutputRows& outputs,
           const Observer& observer, RunWork* work = nullptr) const;
  // The same into new memory: rows × outputs.
  std::vector<float> run(std::size_t rows, const internal::MakeLoader& make_loader, const Observer& observer,
                         RunWork* work = nullptr) const;
  void add_all(std::size_t rows, RunWork& work) const;  // of rows that go through every layer
};

}  // namespace filigree
