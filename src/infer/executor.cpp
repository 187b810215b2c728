// SPDX-License-Identifier: Apache-2.0
#include "infer/executor.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cmath>
#include <future>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/device_executor.h"
#include "infer/panel_layer.h"
#include "infer/panel_store.h"
#include "kernels/count_bits.h"
#include "kernels/spmm.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;
static_assert(kPanelRows == kBitPanelRows);

// A panel's rows move on to the next layer's waiting panel once enough of them died. Copying a row costs
// about as much as five connections per neuron, so a layer of few connections carries more dead rows along
// (measured on the challenge: 1024×120 plain, and compiled, where the first layers have two connections per
// neuron).
constexpr int kMoveBelow = 25;
constexpr int kMoveBelowInThinLayers = 17;
constexpr Offset kThin = 8;  // connections per neuron

// Consecutive layers that are in memory together.
struct Segment {
  Index first = 0;
  std::vector<std::shared_ptr<const PlanLayer>> layers;
  Index end() const { return first + static_cast<Index>(layers.size()); }
  std::size_t widest() const {  // neurons that a panel must have room for
    Index width = 0;
    for (const auto& layer : layers) width = std::max({width, layer->inputs(), layer->outputs()});
    return width;
  }
};

// Where a segment's rows come from: fills or replaces a panel; false if there are no more. Thread-safe.
using Feed = std::function<bool(RowPanel&)>;

struct Tally {
  std::vector<Offset> live, computed, retired;
  explicit Tally(std::size_t layers) : live(layers, 0), computed(layers, 0), retired(layers + 1, 0) {}
};

struct Shared {
  const RunOptions& options;
  const Observer& observer;
  const std::vector<char>& retires;  // per layer: a row saturated after it may retire
  bool keeps_zero;                   // no layer turns a zero row into another
  bool last_segment;
  PanelStore* store;         // where rows go that outlive the segment, unless it is the last
  std::vector<char>& alive;  // per input row
};

// One thread's way through a segment.
class Worker {
 public:
  Worker(const Segment& segment, const Shared& shared, Tally& tally)
      : segment_(segment),
        shared_(shared),
        tally_(tally),
        panel_size_(segment.widest() * kLanes),
        stages_(segment.layers.size() + 1) {
    current_.values = new_panel();
    spare_ = new_panel();
  }

  void work(const Feed& feed) {
    while (feed(current_)) {
      shared_.observer.check_stop();
      fit(current_.values);
      advance(0, false);
    }
    for (std::size_t l = 1; l < segment_.layers.size(); ++l) {
      while (stages_[l].count > 0) {
        shared_.observer.check_stop();
        std::swap(current_, stages_[l]);
        stages_[l].count = 0;
        advance(l, true);
      }
      stages_[l] = RowPanel();
    }
    if (stages_.back().count > 0) shared_.store->add(std::move(stages_.back()));
  }

 private:
  Buffer<float> new_panel() const { return Buffer<float>(panel_size_); }
  // Panels from the segment before may be narrower than this one's widest layer.
  void fit(Buffer<float>& values) const {
    if (values.size() >= panel_size_) return;
    Buffer<float> wider = new_panel();
    std::ranges::copy(values, wider.begin());
    values = std::move(wider);
  }

  // Takes the current panel from layer l (within the segment) as far as it goes: until all rows died, wait in
  // a stage, or reach the segment's end.
  void advance(std::size_t l, bool flushing) {
    const bool filter = shared_.options.filter && shared_.keeps_zero;
    const std::size_t end = segment_.layers.size();
    std::uint32_t occupied = first_rows(current_.count);
    for (; l < end; ++l) {
      const PlanLayer& layer = *segment_.layers[l];
      const std::uint32_t live = run_layer(layer, l, occupied);
      if (filter) occupied = live;
      occupied = retire_saturated(layer, l, occupied);
      if (occupied == 0) return;
      const bool waits = l + 1 < end && filter && std::popcount(occupied) < move_below(l + 1) &&
                         !(flushing && stages_[l + 1].count == 0);
      if (waits) occupied = move_on(l + 1, occupied);
      if (occupied == 0) return;
    }
    if (shared_.last_segment) return report(occupied);
    occupied = move_on(end, occupied);
    if (occupied == 0) return;
    shared_.store->add(std::move(current_));
    current_ = RowPanel();
    current_.values = new_panel();
  }

  static std::uint32_t first_rows(int count) {
    return count == kPanelRows ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
  }

  int move_below(std::size_t l) const {
    const PackedMatrix& w = segment_.layers[l]->weights;
    return w.nnz < kThin * w.rows ? kMoveBelowInThinLayers : kMoveBelow;
  }

  std::uint32_t run_layer(const PlanLayer& layer, std::size_t l, std::uint32_t occupied) {
    float scale = 1.0f;
    if (shared_.options.bracket == Bracket::above) scale = 1.0f + layer.slack;
    if (shared_.options.bracket == Bracket::below) scale = 1.0f - layer.slack;
    run_panel_layer(layer, scale, current_.values.data(), spare_.data(), range_);
    std::swap(current_.values, spare_);
    const auto at = segment_.first + l;
    tally_.computed[at] += std::popcount(occupied);
    std::uint32_t live = 0;
    for (std::uint32_t left = occupied; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (is_zero(layer, lane)) continue;
      live |= std::uint32_t{1} << lane;
      tally_.live[at] += current_.tags[lane].stands_for;
    }
    return live;
  }

  bool is_zero(const PlanLayer& layer, int lane) const {
    const bool finite = !std::isnan(range_.highest[lane]);  // else the range says nothing
    switch (finite ? layer.activation.zero_sums() : ZeroSums::any) {
      case ZeroSums::none_above_zero:
        return range_.highest[lane] <= 0;
      case ZeroSums::zero_alone:
        return range_.highest[lane] <= 0 && range_.lowest[lane] >= 0;
      case ZeroSums::any:
        break;
    }
    for (Index n = 0; n < layer.outputs(); ++n)
      if (current_.values[n * kLanes + lane] != 0) return false;  // NaN, too
    return true;
  }

  // Rows all at the cap, which every later layer keeps there, are done: they end non-zero.
  std::uint32_t retire_saturated(const PlanLayer& layer, std::size_t l, std::uint32_t rows) {
    const auto at = segment_.first + l;
    if (!shared_.retires[at] || layer.outputs() == 0) return rows;
    for (std::uint32_t left = rows; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (!(range_.lowest[lane] >= layer.activation.cap)) continue;
      rows &= ~(std::uint32_t{1} << lane);
      shared_.alive[current_.tags[lane].row] = 1;
      tally_.retired[at + 1] += current_.tags[lane].stands_for;
    }
    return rows;
  }

  // Puts the marked rows into the stage before layer l. If that fills it, it becomes the current panel, and
  // what did not fit waits in its place. Returns the rows of the current panel, none if it moved away whole.
  std::uint32_t move_on(std::size_t l, std::uint32_t rows) {
    RowPanel& stage = stages_[l];
    if (stage.values.empty()) stage.values = new_panel();
    const Index neurons = segment_.layers[l - 1]->outputs();
    std::uint32_t fitting = 0;
    for (int room = kPanelRows - stage.count; room > 0 && rows != 0; --room, rows &= rows - 1)
      fitting |= rows & -rows;
    stage.append(current_, fitting, neurons);
    if (!stage.full()) return 0;
    RowPanel rest;
    rest.values = std::move(spare_);
    if (rows != 0) rest.append(current_, rows, neurons);
    std::swap(stage, rest);     // the full panel is now `rest`
    std::swap(current_, rest);  // and now the current one
    spare_ = std::move(rest.values);
    return ~std::uint32_t{0};
  }

  // At the network's end.
  void report(std::uint32_t rows) {
    for (std::uint32_t left = rows; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const Index row = current_.tags[lane].row;
      if (!is_zero(*segment_.layers.back(), lane)) shared_.alive[row] = 1;
      if (shared_.options.output) shared_.options.output(row, current_.values.data(), lane);
    }
  }

  const Segment& segment_;
  const Shared& shared_;
  Tally& tally_;
  std::size_t panel_size_;
  std::vector<RowPanel> stages_;  // before each layer, and behind the last
  RowPanel current_;
  Buffer<float> spare_;
  PanelRange range_;
};

// Adds the rows' entries up into panels.
class InputFeed {
 public:
  InputFeed(const InputRows& inputs, std::span<const Index> input_of, std::span<const Index> rows,
            Index width, const BitPanels* bits)
      : inputs_(inputs), rows_(rows), width_(static_cast<std::size_t>(width)) {
    place_of_.resize(inputs.cols);
    for (std::size_t c = 0; c < place_of_.size(); ++c)
      place_of_[c] = input_of.empty() ? static_cast<Index>(c) : input_of[c];
    if (!rows.empty() || bits == nullptr) return;
    bits_ = bits;
    group_begin_.assign(width_ + 1, 0);
    for (const Index to : place_of_)
      if (to >= 0) ++group_begin_[to + 1];
    std::partial_sum(group_begin_.begin(), group_begin_.end(), group_begin_.begin());
    group_column_.resize(group_begin_.back());
    std::vector<std::uint32_t> next(group_begin_.begin(), group_begin_.end() - 1);
    for (std::size_t c = 0; c < place_of_.size(); ++c)
      if (place_of_[c] >= 0) group_column_[next[place_of_[c]]++] = static_cast<std::uint16_t>(c);
  }

  std::size_t total() const { return rows_.empty() ? static_cast<std::size_t>(inputs_.rows) : rows_.size(); }
  std::size_t taken() const { return std::min(next_.load(), total()); }

  bool fill(RowPanel& panel) {
    const std::size_t first = next_.fetch_add(kLanes);
    if (first >= total()) return false;
    panel.count = std::min(kLanes, total() - first);
    for (int lane = 0; lane < panel.count; ++lane) {
      const std::size_t i = first + lane;
      panel.tags[lane] = {rows_.empty() ? static_cast<Index>(i) : rows_[i], 1};
    }
    if (bits_ != nullptr) {
      count_bits(bits_->panel(first / kLanes), {group_begin_, group_column_}, panel.values.data());
    } else {
      add_up(panel);
    }
    return true;
  }

 private:
  void add_up(RowPanel& panel) const {
    float* x = panel.values.data();
    std::fill_n(x, width_ * kLanes, 0.0f);
    for (int lane = 0; lane < panel.count; ++lane) {
      const Index row = panel.tags[lane].row;
      const auto columns = inputs_.row_columns(row);
      const std::size_t first = inputs_.row_begin[row];
      for (std::size_t e = 0; e < columns.size(); ++e) {
        const Index to = place_of_[columns[e]];
        if (to >= 0) x[to * kLanes + lane] += inputs_.binary() ? 1.0f : inputs_.value[first + e];
      }
    }
  }

  const InputRows& inputs_;
  std::span<const Index> rows_;
  std::size_t width_;
  std::vector<Index> place_of_;  // per column: the input it is added to, or -1
  const BitPanels* bits_ = nullptr;
  std::vector<std::uint32_t> group_begin_;
  std::vector<std::uint16_t> group_column_;
  std::atomic<std::size_t> next_{0};
};

// Layers [first, …) until the plan ends, the bytes are used up, or rows are to be merged.
Segment fetch(const PlanSource& plan, Index first, Index end, std::size_t bytes) {
  Segment segment;
  segment.first = first;
  std::size_t used = 0;
  for (Index l = first; l < end; ++l) {
    segment.layers.push_back(plan.layer(l));
    used += segment.layers.back()->bytes();
    if (!plan.resident() && used >= bytes) break;
  }
  return segment;
}

Index merge_point_after(Index layer, Index layers, bool merge) {
  if (!merge) return layers;
  Index point = layer + 1;
  while (point < layers && !is_merge_point(point)) ++point;
  return point;
}

// A layer's rows may retire if all that follow keep saturated rows saturated.
std::vector<char> retiring_layers(const PlanSource& plan, bool enabled) {
  const Index layers = plan.layers();
  std::vector<char> retires(layers, 0);
  if (!enabled || !plan.resident()) return retires;
  for (Index l = layers; l-- > 0;) {
    const PlanLayer& layer = *plan.layer(l);
    retires[l] = layer.activation.saturates();
    if (!layer.saturation_stays) break;
  }
  return retires;
}

}  // namespace

bool is_merge_point(Index layers_done) {
  return layers_done >= 16 && std::has_single_bit(static_cast<std::uint32_t>(layers_done));
}

Index standing_for(const std::vector<Index>& absorbed_by, Index row) {
  while (absorbed_by[row] >= 0) row = absorbed_by[row];
  return row;
}

RunResult run(const PlanSource& plan, const InputRows& inputs, std::span<const Index> input_of,
              std::span<const Index> rows, const RunOptions& options, const Observer& observer) {
  if (options.device != nullptr) return options.device->run(plan, inputs, input_of, rows, options, observer);
  const Index layers = options.depth > 0 ? std::min(options.depth, plan.layers()) : plan.layers();
  assert(input_of.empty() ? inputs.cols == plan.inputs()
                          : input_of.size() == static_cast<std::size_t>(inputs.cols));
  const bool merge = options.merge_rows && !options.output;
  std::vector<char> alive(inputs.rows, 0);
  std::vector<Index> absorbed_by(inputs.rows, -1);
  const std::vector<char> retires = retiring_layers(plan, merge);
  Tally total(layers);

  InputFeed input_feed(inputs, input_of, rows, plan.inputs(), options.bits);
  const std::size_t share = options.memory_limit / 4;  // this segment, the next one, and two of rows
  while (input_feed.taken() < input_feed.total()) {
    std::vector<RowPanel> waiting;
    bool from_inputs = true;
    Segment segment = fetch(plan, 0, merge_point_after(0, layers, merge), share);
    for (;;) {
      const bool last = segment.end() == layers;
      std::future<Segment> next;
      if (!last) {
        const auto fetch_next = [&plan, first = segment.end(), layers, merge, share] {
          return fetch(plan, first, merge_point_after(first, layers, merge), share);
        };
        next = std::async(plan.resident() ? std::launch::deferred : std::launch::async, fetch_next);
      }
      const Index width = segment.layers.back()->outputs();
      PanelStore reached(width);
      const Shared shared{options, observer, retires, plan.keeps_zero(), last, &reached, alive};

      // Rows that reach the segment's end wait in memory. Once they fill their share, the other inputs are
      // left for a pass of their own; what is under way in the threads and their stages comes on top.
      const std::size_t room = share / std::max<std::size_t>(1, segment.widest() * sizeof(float));
      std::mutex report_mutex;
      std::atomic<std::size_t> next_waiting{0};
      const Feed feed = [&](RowPanel& panel) {
        if (!from_inputs) {
          const std::size_t i = next_waiting++;
          if (i >= waiting.size()) return false;
          panel = std::move(waiting[i]);
          return true;
        }
        if (!last && reached.rows() > room) return false;
        const bool filled = input_feed.fill(panel);
        const bool now_and_then = input_feed.taken() / kLanes % 16 == 0;
        if (const std::unique_lock lock(report_mutex, std::try_to_lock); now_and_then && lock)
          observer.report("run", input_feed.taken(), input_feed.total(), "inputs");
        return filled;
      };
      std::vector<Tally> tallies(threads(), Tally(layers));
      parallel_workers(tallies.size(),
                       [&](int worker) { Worker(segment, shared, tallies[worker]).work(feed); });
      for (const Tally& tally : tallies)
        for (std::size_t l = 0; l < total.live.size(); ++l) {
          total.live[l] += tally.live[l];
          total.computed[l] += tally.computed[l];
          total.retired[l + 1] += tally.retired[l + 1];
        }
      if (!from_inputs) observer.report("run", segment.end(), layers, "layers");
      if (last || reached.rows() == 0) break;
      if (merge) reached.merge_equal_rows(absorbed_by);
      waiting = reached.take();
      from_inputs = false;
      segment = next.get();
    }
  }

  RunResult result;
  const auto collect = [&](Index row) {
    if (alive[standing_for(absorbed_by, row)]) result.live.push_back(row);
  };
  if (rows.empty()) {
    for (Index row = 0; row < inputs.rows; ++row) collect(row);
  } else {
    for (const Index row : rows) collect(row);
  }
  Offset retired = 0;
  for (std::size_t l = 0; l < total.live.size(); ++l) {
    retired += total.retired[l];
    total.live[l] += retired;
    total.computed[l] += retired > 0;  // all retired rows are the same row
  }
  result.live_rows = std::move(total.live);
  result.distinct_rows = std::move(total.computed);
  return result;
}

}  // namespace filigree::internal
