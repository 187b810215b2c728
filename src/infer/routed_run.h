// SPDX-License-Identifier: Apache-2.0
// Runs networks whose rows do not all go the same way: mixtures of experts, and exits that rows leave by.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compile/plan.h"
#include "filigree/reports.h"
#include "infer/panel_loader.h"
#include "network/network.h"

namespace filigree::internal {

class RoutedPlan {
 public:
  // The layers as they are; heads that no row can leave by are left out. `by_share`: outputs are logits, and
  // what is compared with the threshold is their softmax.
  RoutedPlan(const LayerSource& source, std::span<const ExitHead> exits, double threshold, bool by_share);

  std::size_t outputs() const { return outputs_; }

  // `outputs` gets rows × outputs() values, row-major; what the rows took is added to `work`.
  void run(std::size_t rows, const MakeLoader& make_loader, std::span<float> outputs, RunWork& work,
           const Observer& observer) const;

 private:
  class Block;
  using Packed = std::shared_ptr<const PlanLayer>;
  struct Stage {
    std::vector<Packed> experts;  // one: a plain layer
    Packed gate = nullptr;
    std::size_t active = 1;
    Packed exit = nullptr;  // behind it
    std::size_t exit_number = 0;
  };

  std::vector<Stage> stages_;
  std::size_t exits_;
  float threshold_;
  bool by_share_;
  Index inputs_;
  std::size_t outputs_ = 0, widest_ = 0, most_experts_ = 1;
  std::size_t panels_ = 1;  // that go from layer to layer together
};

}  // namespace filigree::internal
