// SPDX-License-Identifier: Apache-2.0
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

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;
// Panels that go from layer to layer together. With mixtures, enough rows that each expert's panels are
// mostly full, few enough that their activations stay in the second cache (4 to 16 are alike); else one,
// which stays in the first.
constexpr std::size_t kMixturePanels = 8;

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
    const LayerPointer kept = source.layer(l);
    const Layer& layer = *kept;
    Stage& stage = stages_.emplace_back();
    if (layer.gate) {
      for (Index e = 0; e < layer.experts(); ++e) stage.experts.push_back(packed(expert_of(layer, e)));
      stage.gate = packed(layer_of(*layer.gate));
      stage.active = layer.gate->active;
      widest_ = std::max(widest_, static_cast<std::size_t>(layer.inputs()));
      panels_ = kMixturePanels;
      most_experts_ = std::max(most_experts_, stage.experts.size());
    } else {
      stage.experts.push_back(packed(layer));
    }
    for (std::size_t x = 0; x < exits.size() && threshold < 1; ++x) {
      if (exits[x].after != l + 1) continue;
      stage.exit = packed(exits[x].layer);
      stage.exit_number = x;
    }
    outputs_ = layer.outputs();
    widest_ = std::max(widest_, outputs_);
  }
}

// The rows that one thread has under way. Between exits, panels go through the layers together; those that an
// exit does not let go wait behind it until there are as many again, so that panels are always full.
class RoutedPlan::Block {
 public:
  Block(const RoutedPlan& plan, std::span<float> outputs)
      : plan_(plan),
        outputs_(outputs),
        x_(plan.panels_ * plan.widest_ * kLanes),
        y_(x_.size()),
        gate_(2 * plan.most_experts_ * kLanes),
        head_(2 * plan.outputs_ * kLanes),
        gathered_(plan.widest_ * kLanes),
        own_(gathered_.size() + kLanes) {
    // Places that no row has taken are computed with, too: numbers so small that they are slow must not be
    // there.
    for (Buffer<float>* panels : {&x_, &y_, &gathered_}) panels->zero();
    for (const Stage& stage : plan.stages_) {
      if (!stage.exit) continue;
      Waiting& waiting = waiting_.emplace_back();
      waiting.width = stage.exit->inputs();
      waiting.panels = Buffer<float>(2 * plan.panels_ * waiting.width * kLanes);
      waiting.panels.zero();
    }
    work_.rows_by_exit.assign(plan.exits_ + 1, 0);
  }

  const RunWork& work() const { return work_; }

  void run(std::size_t first, std::size_t count, PanelLoader& loader) {
    std::vector<std::size_t> rows(count);
    for (std::size_t i = 0; i < count; ++i) rows[i] = first + i;
    const Stage& stage = plan_.stages_.front();
    const std::size_t width = plan_.inputs_;
    for (std::size_t p = 0; p * kLanes < count; ++p) {
      const std::size_t here = std::min(kLanes, count - p * kLanes);
      const float* loaded = loader.load(first + p * kLanes, here);
      if (stage.gate)
        std::copy_n(loaded, width * kLanes, panel(x_, p, width));
      else
        run_layer(*stage.experts.front(), loaded, panel(x_, p, outputs_of(stage)), here);
    }
    if (!stage.gate && stage.exit)
      leave(0, 0, x_.data(), rows);
    else
      advance(0, stage.gate ? 0 : 1, x_.data(), rows);
  }

  // Takes those that wait to the end, few as they are.
  void finish() {
    std::size_t from = 0;
    for (std::size_t s = 0; s < plan_.stages_.size(); ++s)
      if (plan_.stages_[s].exit) {
        Waiting& waiting = waiting_[from++];
        advance(from, s + 1, waiting.panels.data(), waiting.rows);
        waiting.rows.clear();
      }
  }

 private:
  struct Waiting {
    std::size_t width = 0;
    Buffer<float> panels = {};
    std::vector<std::size_t> rows = {};
  };

  static std::size_t outputs_of(const Stage& stage) { return stage.experts.front()->outputs(); }
  static float* panel(Buffer<float>& level, std::size_t p, std::size_t width) {
    return level.data() + p * width * kLanes;
  }
  static std::size_t rows_in(std::size_t p, std::span<const std::size_t> rows) {
    return std::min(kLanes, rows.size() - p * kLanes);
  }

  // Rows that have come by `exits` exits, before stage `s`, up to the next exit or to the end.
  void advance(std::size_t exits, std::size_t s, const float* x, std::span<const std::size_t> rows) {
    if (rows.empty()) return;
    for (; s < plan_.stages_.size(); ++s) {
      const Stage& stage = plan_.stages_[s];
      const std::size_t width = stage.experts.front()->inputs();
      const std::size_t next = outputs_of(stage);
      if (stage.gate)
        run_mixture(stage, x, width, next, rows);
      else
        for (std::size_t p = 0; p * kLanes < rows.size(); ++p)
          run_layer(*stage.experts.front(), x + p * width * kLanes, panel(y_, p, next), rows_in(p, rows));
      std::swap(x_, y_);
      x = x_.data();
      if (stage.exit) return leave(exits, s, x, rows);
    }
    for (std::size_t r = 0; r < rows.size(); ++r)
      write(x + r / kLanes * plan_.outputs_ * kLanes + r % kLanes, rows[r]);
    work_.rows_by_exit.back() += static_cast<Offset>(rows.size());
  }

  void run_layer(const PlanLayer& layer, const float* x, float* y, std::size_t rows) {
    run_panel_layer(layer, 1.0f, x, y, range_);
    work_.connections += layer.weights.nnz * static_cast<Offset>(rows);
  }

  void write(const float* from, std::size_t row) {
    for (std::size_t o = 0; o < plan_.outputs_; ++o) outputs_[row * plan_.outputs_ + o] = from[o * kLanes];
  }

  void run_mixture(const Stage& stage, const float* x, std::size_t width, std::size_t next,
                   std::span<const std::size_t> rows) {
    const std::size_t experts = stage.experts.size(), panels = (rows.size() + kLanes - 1) / kLanes;
    rows_of_.resize(std::max(rows_of_.size(), experts));
    for (std::vector<Routed>& routed : rows_of_) routed.clear();
    choice_.resize(stage.active);
    for (std::size_t p = 0; p < panels; ++p) {
      float* share = gate_.data() + experts * kLanes;
      run_layer(*stage.gate, x + p * width * kLanes, gate_.data(), rows_in(p, rows));
      softmax(experts, kLanes, gate_.data(), share, highest_, log_sum_);
      for (std::size_t b = 0; b < rows_in(p, rows); ++b) {
        choose_experts(experts, share + b, kLanes, choice_);
        for (const ExpertChoice& each : choice_)
          rows_of_[each.expert].push_back(
              {static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(b), each.weight});
      }
    }
    std::fill_n(y_.data(), panels * next * kLanes, 0.0f);
    for (std::size_t e = 0; e < experts; ++e)
      for (std::span<const Routed> left = rows_of_[e]; !left.empty();) {
        const std::size_t count = std::min(kLanes, left.size());
        run_expert(*stage.experts[e], left.first(count), x, width, next);
        left = left.subspan(count);
      }
  }

  struct Routed {
    std::uint32_t panel, lane;
    float weight;
  };

  // Gathers the rows of one expert into a panel, and adds what it makes of them to the mixture's.
  void run_expert(const PlanLayer& expert, std::span<const Routed> rows, const float* x, std::size_t width,
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
      append_panel_rows(x + p.panel * width * kLanes, width, p.lanes, gathered_.data(), p.at);
    run_layer(expert, gathered_.data(), own_.data(), rows.size());
    for (const Piece& p : std::span(piece, pieces))
      add_panel_rows(own_.data(), next, p.at, p.lanes, weight, panel(y_, p.panel, next));
  }

  // Rows that the head behind stage `s` is sure of leave with what it says; the others wait.
  void leave(std::size_t exits, std::size_t s, const float* x, std::span<const std::size_t> rows) {
    const Stage& stage = plan_.stages_[s];
    Waiting& waiting = waiting_[exits];
    const std::size_t classes = plan_.outputs_, width = waiting.width;
    for (std::size_t p = 0; p * kLanes < rows.size(); ++p) {
      const std::size_t count = rows_in(p, rows);
      float* share = head_.data() + classes * kLanes;
      run_layer(*stage.exit, x + p * width * kLanes, head_.data(), count);
      if (plan_.by_share_) softmax(classes, kLanes, head_.data(), share, highest_, log_sum_);
      const float* sure = plan_.by_share_ ? share : head_.data();
      std::uint32_t lanes = 0;
      for (std::size_t b = 0; b < count; ++b) {
        float largest = sure[b];
        bool odd = false;  // a row with a NaN goes on
        for (std::size_t c = 0; c < classes; ++c) {
          largest = std::max(largest, sure[c * kLanes + b]);
          odd |= std::isnan(sure[c * kLanes + b]);
        }
        if (!odd && largest > plan_.threshold_) {
          write(head_.data() + b, rows[p * kLanes + b]);
          ++work_.rows_by_exit[stage.exit_number];
        } else {
          lanes |= 1u << b;
        }
      }
      append(x + p * width * kLanes, lanes, rows.subspan(p * kLanes, count), waiting);
    }
    const std::size_t full = plan_.panels_ * kLanes;
    if (waiting.rows.size() < full) return;
    advance(exits + 1, s + 1, waiting.panels.data(), std::span(waiting.rows).first(full));
    waiting.rows.erase(waiting.rows.begin(), waiting.rows.begin() + static_cast<std::ptrdiff_t>(full));
    std::copy_n(panel(waiting.panels, plan_.panels_, width),
                (waiting.rows.size() + kLanes - 1) / kLanes * width * kLanes, waiting.panels.data());
  }

  // The marked rows of a panel, whose rows are `rows`, take the next places among those that wait.
  static void append(const float* from, std::uint32_t lanes, std::span<const std::size_t> rows,
                     Waiting& waiting) {
    while (lanes != 0) {
      const Index at = waiting.rows.size() % kLanes;
      float* to = panel(waiting.panels, waiting.rows.size() / kLanes, waiting.width);
      std::uint32_t part = 0;
      for (Index room = kPanelRows - at; room > 0 && lanes != 0; --room, lanes &= lanes - 1) {
        const std::size_t lane = std::countr_zero(lanes);
        part |= 1u << lane;
        waiting.rows.push_back(rows[lane]);
      }
      append_panel_rows(from, waiting.width, part, to, at);
    }
  }

  const RoutedPlan& plan_;
  std::span<float> outputs_;
  Buffer<float> x_, y_, gate_, head_, gathered_, own_;
  std::vector<ExpertChoice> choice_;
  std::vector<std::vector<Routed>> rows_of_;
  std::vector<Waiting> waiting_;  // behind each exit
  PanelRange range_;
  alignas(kAlignment) float highest_[kPanelRows], log_sum_[kPanelRows];
  RunWork work_;
};

void RoutedPlan::run(std::size_t rows, const MakeLoader& make_loader, std::span<float> outputs, RunWork& work,
                     const Observer& observer) const {
  // Neighbouring rows to one thread for a while, so that few wait at the end.
  const std::size_t together = panels_ * kLanes;
  const std::size_t bunches = (rows + together - 1) / together;
  const std::size_t at_a_time = std::max<std::size_t>(1, kMixturePanels / panels_);
  work.rows_by_exit.resize(exits_ + 1, 0);
  std::atomic<std::size_t> next{0};
  std::mutex adding;
  parallel_workers([&](int worker) {
    if (next >= bunches) return;
    const std::unique_ptr<PanelLoader> loader = make_loader();
    Block block(*this, outputs);
    for (std::size_t i = next.fetch_add(at_a_time); i < bunches; i = next.fetch_add(at_a_time)) {
      observer.check_stop();
      if (worker == 0) observer.report("run", i * together, rows, "rows");
      for (std::size_t j = i; j < std::min(bunches, i + at_a_time); ++j)
        block.run(j * together, std::min(together, rows - j * together), *loader);
    }
    block.finish();
    const std::lock_guard lock(adding);
    work.connections += block.work().connections;
    for (std::size_t x = 0; x < work.rows_by_exit.size(); ++x)
      work.rows_by_exit[x] += block.work().rows_by_exit[x];
  });
  observer.report("run", rows, rows, "rows");
}

}  // namespace filigree::internal
