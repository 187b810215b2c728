#include "infer/routed_run.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>

#include "base/parallel.h"
#include "infer/panel_layer.h"
#include "kernels/choose_experts.h"
#include "kernels/softmax.h"

namespace filigree {

namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);
// Panels that go from layer to layer together: enough rows that each expert's panels are mostly full, few
// enough that their activations stay in the second cache.
constexpr std::size_t kPanels = 8;

std::shared_ptr<const PlanLayer> packed(const Layer& layer) {
  return std::make_shared<const PlanLayer>(make_plan_layer(layer, facts_of(layer, 0)));
}

Layer layer_of(const Gate& gate) {
  return {gate.weights, gate.bias, Activation::identity};
}

}  // namespace

RoutedPlan::RoutedPlan(const LayerSource& source, std::span<const ExitHead> exits, double threshold,
                       bool by_share)
    : exits_(exits.size()),
      threshold_(static_cast<float>(threshold)),
      by_share_(by_share),
      inputs_(source.inputs()) {
  for (Index l = 0; l < source.layers(); ++l) {
    const Layer layer = source.layer(l);
    Stage& stage = stages_.emplace_back();
    if (layer.gate) {
      for (Index e = 0; e < layer.experts(); ++e) stage.experts.push_back(packed(expert_of(layer, e)));
      stage.gate = packed(layer_of(*layer.gate));
      stage.active = static_cast<std::size_t>(layer.gate->active);
      widest_ = std::max(widest_, static_cast<std::size_t>(layer.inputs()));
      most_experts_ = std::max(most_experts_, stage.experts.size());
    } else {
      stage.experts.push_back(packed(layer));
    }
    for (std::size_t x = 0; x < exits.size() && threshold < 1; ++x) {
      if (exits[x].after != l + 1) continue;
      stage.exit = packed(exits[x].layer);
      stage.exit_number = x;
    }
    outputs_ = static_cast<std::size_t>(layer.outputs());
    widest_ = std::max(widest_, outputs_);
  }
}

std::size_t RoutedPlan::bytes() const {
  std::size_t sum = 0;
  for (const Stage& stage : stages_) {
    for (const LayerPointer& expert : stage.experts) sum += expert->bytes();
    for (const LayerPointer& branch : {stage.gate, stage.exit}) sum += branch ? branch->bytes() : 0;
  }
  return sum;
}

// Some panels of rows on their way through the network, of one thread.
class RoutedPlan::Block {
 public:
  Block(const RoutedPlan& plan, std::size_t panels, std::span<float> outputs)
      : plan_(plan),
        outputs_(outputs),
        x_(panels * plan.widest_ * kLanes),
        y_(x_.size()),
        gate_(2 * plan.most_experts_ * kLanes),
        head_(2 * plan.outputs_ * kLanes),
        gathered_(plan.widest_ * kLanes),
        own_(gathered_.size() + kLanes) {
    x_.zero();
    y_.zero();  // places that no row has taken are computed with, too
    gathered_.zero();
    work_.rows_by_exit.assign(plan.exits_ + 1, 0);
  }

  const RunWork& work() const { return work_; }

  void run(std::size_t first, std::size_t count, PanelLoader& loader) {
    row_.resize(count);
    for (std::size_t i = 0; i < count; ++i) row_[i] = first + i;
    auto width = static_cast<std::size_t>(plan_.inputs_);
    for (const Stage& stage : plan_.stages_) {
      const bool from_rows = &stage == &plan_.stages_.front();
      const auto next = static_cast<std::size_t>(stage.experts.front()->outputs());
      if (from_rows && stage.gate)
        for (std::size_t p = 0; p < panels(); ++p)
          std::copy_n(loader.load(first + p * kLanes, rows_in(p)), width * kLanes, panel(x_, p, width));
      if (stage.gate) {
        run_mixture(stage, width, next);
      } else {
        for (std::size_t p = 0; p < panels(); ++p) {
          const float* x = from_rows ? loader.load(first + p * kLanes, rows_in(p)) : panel(x_, p, width);
          run_layer(*stage.experts.front(), x, panel(y_, p, next), rows_in(p));
        }
      }
      std::swap(x_, y_);
      width = next;
      if (stage.exit) leave(stage, width);
      if (row_.empty()) return;
    }
    for (std::size_t p = 0; p < panels(); ++p)
      for (std::size_t b = 0; b < rows_in(p); ++b) write(panel(x_, p, width) + b, row_[p * kLanes + b]);
    work_.rows_by_exit.back() += static_cast<Offset>(row_.size());
  }

 private:
  std::size_t panels() const { return (row_.size() + kLanes - 1) / kLanes; }
  std::size_t rows_in(std::size_t p) const { return std::min(kLanes, row_.size() - p * kLanes); }
  static float* panel(Buffer<float>& level, std::size_t p, std::size_t width) {
    return level.data() + p * width * kLanes;
  }

  void run_layer(const PlanLayer& layer, const float* x, float* y, std::size_t rows) {
    run_panel_layer(layer, 1.0f, x, y, range_);
    work_.connections += layer.weights.nnz * static_cast<Offset>(rows);
  }

  void write(const float* from, std::size_t row) {
    for (std::size_t o = 0; o < plan_.outputs_; ++o) outputs_[row * plan_.outputs_ + o] = from[o * kLanes];
  }

  void run_mixture(const Stage& stage, std::size_t width, std::size_t next) {
    const std::size_t experts = stage.experts.size();
    rows_of_.assign(experts, {});
    for (std::size_t p = 0; p < panels(); ++p) {
      float* share = gate_.data() + experts * kLanes;
      run_layer(*stage.gate, panel(x_, p, width), gate_.data(), rows_in(p));
      softmax(experts, kLanes, gate_.data(), share, highest_, log_sum_);
      choice_.resize(stage.active);
      for (std::size_t b = 0; b < rows_in(p); ++b) {
        choose_experts(experts, share + b, kLanes, choice_);
        for (const ExpertChoice& each : choice_)
          rows_of_[each.expert].push_back(
              {static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(b), each.weight});
      }
    }
    std::fill_n(y_.data(), panels() * next * kLanes, 0.0f);
    for (std::size_t e = 0; e < experts; ++e)
      for (std::size_t first = 0; first < rows_of_[e].size(); first += kLanes)
        run_expert(*stage.experts[e],
                   std::span(rows_of_[e]).subspan(first).first(std::min(kLanes, rows_of_[e].size() - first)),
                   width, next);
  }

  struct Routed {
    std::uint32_t panel, lane;
    float weight;
  };

  // Gathers the rows of one expert into a panel, and adds what it makes of them to the mixture's.
  void run_expert(const PlanLayer& expert, std::span<const Routed> rows, std::size_t width,
                  std::size_t next) {
    struct Piece {
      std::uint32_t panel, lanes;
      Index at;
    };
    Piece piece[kLanes];
    std::size_t pieces = 0;
    float weight[kLanes];
    for (std::size_t i = 0; i < rows.size(); ++i) {  // panel by panel, lanes ascending
      if (i == 0 || rows[i].panel != rows[i - 1].panel)
        piece[pieces++] = {rows[i].panel, 0, static_cast<Index>(i)};
      piece[pieces - 1].lanes |= 1u << rows[i].lane;
      weight[i] = rows[i].weight;
    }
    for (const Piece& p : std::span(piece, pieces))
      append_panel_rows(panel(x_, p.panel, width), static_cast<Index>(width), p.lanes, gathered_.data(),
                        p.at);
    run_layer(expert, gathered_.data(), own_.data(), rows.size());
    for (const Piece& p : std::span(piece, pieces))
      add_panel_rows(own_.data(), static_cast<Index>(next), p.at, p.lanes, weight, panel(y_, p.panel, next));
  }

  // Rows that a head is sure of leave with what it says; the others move together.
  void leave(const Stage& stage, std::size_t width) {
    const std::size_t classes = plan_.outputs_;
    std::vector<std::size_t> stay;
    Index placed = 0;
    const std::size_t before = row_.size();
    for (std::size_t p = 0; p * kLanes < before; ++p) {
      const std::size_t count = std::min(kLanes, before - p * kLanes);
      float* share = head_.data() + classes * kLanes;
      run_layer(*stage.exit, panel(x_, p, width), head_.data(), count);
      if (plan_.by_share_) softmax(classes, kLanes, head_.data(), share, highest_, log_sum_);
      const float* sure = plan_.by_share_ ? share : head_.data();
      std::uint32_t lanes = 0;
      for (std::size_t b = 0; b < count; ++b) {
        float largest = sure[b];
        for (std::size_t c = 1; c < classes; ++c) largest = std::max(largest, sure[c * kLanes + b]);
        if (largest > plan_.threshold_) {
          write(head_.data() + b, row_[p * kLanes + b]);
          ++work_.rows_by_exit[stage.exit_number];
        } else {
          lanes |= 1u << b;
          stay.push_back(row_[p * kLanes + b]);
        }
      }
      placed = append(panel(x_, p, width), width, lanes, placed);
    }
    row_ = std::move(stay);
    std::swap(x_, y_);
  }

  // The marked rows of a panel to the next places of y; returns the place after them.
  Index append(const float* from, std::size_t width, std::uint32_t lanes, Index placed) {
    while (lanes != 0) {
      const Index at = placed % kPanelRows;
      std::uint32_t part = 0, left = lanes;
      for (Index room = kPanelRows - at; room > 0 && left != 0; --room, left &= left - 1)
        part |= left & (~left + 1);
      append_panel_rows(from, static_cast<Index>(width), part,
                        panel(y_, static_cast<std::size_t>(placed / kPanelRows), width), at);
      placed += std::popcount(part);
      lanes = left;
    }
    return placed;
  }

  const RoutedPlan& plan_;
  std::span<float> outputs_;
  Buffer<float> x_, y_, gate_, head_, gathered_, own_;
  std::vector<ExpertChoice> choice_;
  std::vector<std::vector<Routed>> rows_of_;
  std::vector<std::size_t> row_;  // the row at each place
  PanelRange range_;
  alignas(kAlignment) float highest_[kPanelRows], log_sum_[kPanelRows];
  RunWork work_;
};

void RoutedPlan::run(std::size_t rows, const MakeLoader& make_loader, std::span<float> outputs, RunWork& work,
                     const Observer& observer) const {
  constexpr std::size_t kRows = kPanels * kLanes;
  const std::size_t blocks = (rows + kRows - 1) / kRows;
  work.rows_by_exit.resize(exits_ + 1, 0);
  std::atomic<std::size_t> next{0};
  std::mutex adding;
  parallel_workers([&](int worker) {
    if (next >= blocks) return;
    const std::unique_ptr<PanelLoader> loader = make_loader();
    Block block(*this, std::min(kPanels, (rows + kLanes - 1) / kLanes), outputs);
    for (std::size_t i = next++; i < blocks; i = next++) {
      observer.check_stop();
      if (worker == 0)
        observer.report("run", static_cast<double>(i * kRows), static_cast<double>(rows), "rows");
      block.run(i * kRows, std::min(kRows, rows - i * kRows), *loader);
    }
    const std::lock_guard lock(adding);
    work.connections += block.work().connections;
    for (std::size_t x = 0; x < work.rows_by_exit.size(); ++x)
      work.rows_by_exit[x] += block.work().rows_by_exit[x];
  });
  observer.report("run", static_cast<double>(rows), static_cast<double>(rows), "rows");
}

}  // namespace filigree
