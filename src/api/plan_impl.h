// What a public Plan holds.
#pragma once

#include <memory>
#include <vector>

#include "filigree/plan.h"
#include "infer/row_run.h"

namespace filigree {

struct Plan::Impl {
  std::unique_ptr<ResidentPlan> layers;
  InputMap input_map;
  std::vector<Index> output_of;
  std::vector<float> output_constant;
  std::vector<float> input_mean, input_scale;  // see Model
  std::unique_ptr<AdaptiveRun> adaptive = std::make_unique<AdaptiveRun>();

  Affine scaling() const { return {input_mean, input_scale}; }
  bool scaled() const { return !input_mean.empty() || !input_scale.empty(); }

  // Every row through every layer; rows × outputs, row-major.
  std::vector<float> run(std::size_t rows, const MakeLoader& make_loader, const Observer& observer) const {
    std::vector<float> outputs(rows * output_of.size());
    (*adaptive)(*layers, rows, make_loader, {output_of, output_constant}, outputs, observer);
    return outputs;
  }
};

}  // namespace filigree
