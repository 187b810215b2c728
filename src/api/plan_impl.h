// SPDX-License-Identifier: Apache-2.0
// What a public Plan holds.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "filigree/plan.h"
#include "infer/device_executor.h"
#include "infer/routed_run.h"
#include "infer/row_run.h"

namespace filigree {

struct Plan::Impl {
  std::unique_ptr<ResidentPlan> layers;  // or:
  std::unique_ptr<RoutedPlan> routed = nullptr;
  InputMap input_map;
  std::vector<Index> output_of;
  std::vector<float> output_constant;
  std::vector<float> input_mean, input_scale;  // see Model
  std::size_t exits = 0;                       // of the network, taken by none if the plan is not routed
  std::unique_ptr<AdaptiveRun> adaptive = std::make_unique<AdaptiveRun>();

  std::shared_ptr<DeviceExecutor> device = {};  // null: the CPU

  Affine scaling() const { return {input_mean, input_scale}; }
  bool scaled() const { return !input_mean.empty() || !input_scale.empty(); }

  // Every row goes through every layer.
  void add_all(std::size_t rows, RunWork& work) const {
    for (Index l = 0; l < layers->layers(); ++l)
      work.connections += layers->layer(l)->weights.nnz * static_cast<Offset>(rows);
    work.rows_by_exit.resize(exits + 1, 0);
    work.rows_by_exit.back() += static_cast<Offset>(rows);
  }

  // Every row through every layer.
  void run(std::size_t rows, const MakeLoader& make_loader, const OutputRows& outputs,
           const Observer& observer, RunWork* work = nullptr) const {
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

  // The same into new memory: rows × outputs.
  std::vector<float> run(std::size_t rows, const MakeLoader& make_loader, const Observer& observer,
                         RunWork* work = nullptr) const {
    std::vector<float> outputs(rows * output_of.size());
    run(rows, make_loader, outputs, observer, work);
    return outputs;
  }
};

}  // namespace filigree
