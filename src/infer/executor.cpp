#include "infer/executor.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <future>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "infer/row_store.h"
#include "kernels/spmm.h"

namespace filigree {

namespace {

constexpr auto kLanes = static_cast<std::size_t>(kPanelRows);

// A panel's rows move on to the next layer's waiting panel once a quarter of them died: copying 24 rows costs
// about a tenth of a layer of 32 connections per neuron, carrying 8 dead ones a quarter.
constexpr int kMoveBelow = 25;

// Rows that wait for company before the next layer.
struct Stage {
  Buffer<float> panel;
  RowTag tags[kLanes];
  int count = 0;
};

// Consecutive layers that are in memory together.
struct Segment {
  Index first = 0;
  std::vector<std::shared_ptr<const PlanLayer>> layers;
  Index end() const { return first + static_cast<Index>(layers.size()); }
};

// Where a segment's rows come from: fills a panel, returns how many rows (0: no more). Thread-safe.
using Feed = std::function<int(float* panel, RowTag* tags)>;

struct Tally {
  std::vector<Offset> live, computed, retired;
  explicit Tally(std::size_t layers) : live(layers, 0), computed(layers, 0), retired(layers + 1, 0) {}
};

struct Shared {
  const RunOptions& options;
  const Observer& observer;
  const std::vector<char>& retires;  // per layer: a row saturated after it may retire
  bool keeps_zero;  // no layer turns a zero row into another
  bool last_segment;
  RowStore* store;  // where rows go that outlive the segment, unless it is the last
  std::vector<char>& alive;  // per input row
};

// One thread's way through a segment.
class Worker {
 public:
  Worker(const Segment& segment, const Shared& shared, Tally& tally)
      : segment_(segment), shared_(shared), tally_(tally), stages_(segment.layers.size()) {
    for (const auto& layer : segment.layers) width_ = std::max({width_, layer->inputs(), layer->outputs()});
    current_.panel = new_panel();
    spare_ = new_panel();
  }

  void work(const Feed& feed) {
    for (;;) {
      shared_.observer.check_stop();
      current_.count = feed(current_.panel.data(), current_.tags);
      if (current_.count == 0) break;
      advance(0, false);
    }
    for (std::size_t l = 1; l < stages_.size(); ++l) {
      while (stages_[l].count > 0) {
        shared_.observer.check_stop();
        std::swap(current_, stages_[l]);
        stages_[l].count = 0;
        advance(l, true);
      }
      stages_[l] = Stage();
    }
  }

 private:
  Buffer<float> new_panel() const { return Buffer<float>(static_cast<std::size_t>(width_) * kLanes); }

  // Takes the current panel from layer l (within the segment) as far as it goes: until all rows died, wait in a
  // stage, or reach the segment's end.
  void advance(std::size_t l, bool flushing) {
    const bool filter = shared_.options.filter && shared_.keeps_zero;
    std::uint32_t occupied = occupied_bits(current_.count);
    for (; l < segment_.layers.size(); ++l) {
      const PlanLayer& layer = *segment_.layers[l];
      const std::uint32_t live = run_layer(layer, l, occupied);
      if (filter) occupied = live;
      occupied = retire_saturated(layer, l, occupied);
      if (occupied == 0) return;
      const bool has_next = l + 1 < segment_.layers.size();
      if (has_next && filter && std::popcount(occupied) < kMoveBelow &&
          !(flushing && stages_[l + 1].count == 0)) {
        occupied = move_on(l + 1, occupied);
        if (occupied == 0) return;
      }
    }
    finish(occupied);
  }

  static std::uint32_t occupied_bits(int count) {
    return count == kPanelRows ? ~std::uint32_t{0} : (std::uint32_t{1} << count) - 1;
  }

  std::uint32_t run_layer(const PlanLayer& layer, std::size_t l, std::uint32_t occupied) {
    Epilogue epilogue{layer.bias, layer.activation, layer.cap, 1.0f};
    if (shared_.options.bracket == Bracket::above) epilogue.scale = 1.0f + layer.slack;
    if (shared_.options.bracket == Bracket::below) epilogue.scale = 1.0f - layer.slack;
    spmm_panel(layer.weights, epilogue, current_.panel.data(), spare_.data(), range_);
    std::swap(current_.panel, spare_);
    const auto at = static_cast<std::size_t>(segment_.first) + l;
    std::uint32_t live = 0;
    for (std::uint32_t left = occupied; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      tally_.computed[at] += 1;
      if (is_zero(layer, lane)) continue;
      live |= std::uint32_t{1} << lane;
      tally_.live[at] += current_.tags[lane].stands_for;
    }
    return live;
  }

  bool is_zero(const PlanLayer& layer, int lane) const {
    return range_.highest[lane] <= 0 && (layer.activation == Activation::relu || range_.lowest[lane] >= 0);
  }

  // Rows all at the cap, which every later layer keeps there, are done: they end non-zero.
  std::uint32_t retire_saturated(const PlanLayer& layer, std::size_t l, std::uint32_t rows) {
    const auto at = static_cast<std::size_t>(segment_.first) + l;
    if (!shared_.retires[at]) return rows;
    for (std::uint32_t left = rows; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (!(range_.lowest[lane] >= layer.cap)) continue;
      rows &= ~(std::uint32_t{1} << lane);
      shared_.alive[static_cast<std::size_t>(current_.tags[lane].row)] = 1;
      tally_.retired[at + 1] += current_.tags[lane].stands_for;
    }
    return rows;
  }

  // Puts the marked rows into the stage before layer l. If that fills it, it becomes the current panel, and what
  // did not fit waits in its place. Returns the rows of the current panel, none if it moved away whole.
  std::uint32_t move_on(std::size_t l, std::uint32_t rows) {
    Stage& stage = stages_[l];
    if (stage.panel.empty()) stage.panel = new_panel();
    const Index neurons = segment_.layers[l]->inputs();
    const int room = kPanelRows - stage.count;
    std::uint32_t now = 0;
    for (int i = 0; i < room && rows != 0; ++i) {
      const std::uint32_t bit = rows & -rows;
      now |= bit;
      rows ^= bit;
    }
    append(stage, now, neurons);
    if (stage.count < kPanelRows) return 0;
    std::swap(current_, stage);  // the stage now holds the old panel, whose remaining rows are moved to its front
    if (rows == 0) {
      stage.count = 0;
    } else {
      Stage rest;
      rest.panel = std::move(spare_);
      std::swap(rest, stage);
      append(stage, rows, neurons, rest);
      spare_ = std::move(rest.panel);
    }
    return ~std::uint32_t{0};
  }

  void append(Stage& stage, std::uint32_t rows, Index neurons) { append(stage, rows, neurons, current_); }
  static void append(Stage& stage, std::uint32_t rows, Index neurons, const Stage& from) {
    append_panel_rows(from.panel.data(), neurons, rows, stage.panel.data(), stage.count);
    for (std::uint32_t left = rows; left != 0; left &= left - 1)
      stage.tags[stage.count++] = from.tags[std::countr_zero(left)];
  }

  void finish(std::uint32_t rows) {
    const PlanLayer& layer = *segment_.layers.back();
    for (std::uint32_t left = rows; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const RowTag tag = current_.tags[lane];
      if (!shared_.last_segment) {
        shared_.store->add_from_panel(tag, current_.panel.data(), lane);
        continue;
      }
      if (!is_zero(layer, lane)) shared_.alive[static_cast<std::size_t>(tag.row)] = 1;
      if (shared_.options.output) shared_.options.output(tag.row, current_.panel.data(), lane);
    }
  }

  const Segment& segment_;
  const Shared& shared_;
  Tally& tally_;
  Index width_ = 0;
  std::vector<Stage> stages_;
  Stage current_;
  Buffer<float> spare_;
  PanelRange range_;
};

// Adds the rows' entries up into a panel.
class InputFeed {
 public:
  InputFeed(const InputRows& inputs, std::span<const Index> input_of, std::span<const Index> rows, Index width)
      : inputs_(inputs), input_of_(input_of), rows_(rows), width_(static_cast<std::size_t>(width)) {}

  std::size_t total() const { return rows_.empty() ? static_cast<std::size_t>(inputs_.rows) : rows_.size(); }
  std::size_t taken() const { return std::min(next_.load(), total()); }

  int fill(float* panel, RowTag* tags) {
    const std::size_t first = next_.fetch_add(kLanes);
    if (first >= total()) return 0;
    const auto count = static_cast<int>(std::min(kLanes, total() - first));
    if (input_of_.empty()) {
      std::fill_n(panel, width_ * kLanes, 0.0f);
      for (int lane = 0; lane < count; ++lane) place(tags, lane, first, [&](std::size_t c, float v) { panel[c * kLanes + static_cast<std::size_t>(lane)] = v; });
    } else {
      add_up(panel, tags, first, count);
    }
    return count;
  }

 private:
  template <typename Put>
  void place(RowTag* tags, int lane, std::size_t first, const Put& put) const {
    const Index row = row_at(first + static_cast<std::size_t>(lane));
    tags[lane] = {row, 1};
    const auto columns = inputs_.row_columns(row);
    if (inputs_.binary()) {
      for (const std::uint16_t c : columns) put(c, 1.0f);
    } else {
      const float* value = inputs_.value.data() + inputs_.row_begin[static_cast<std::size_t>(row)];
      for (std::size_t e = 0; e < columns.size(); ++e) put(columns[e], value[e]);
    }
  }

  // Row by row into a buffer of one row, which stays in L1, then turned into the panel.
  void add_up(float* panel, RowTag* tags, std::size_t first, int count) const {
    thread_local std::vector<float> sums;
    sums.assign((width_ + 1) * kLanes, 0.0f);
    for (int lane = 0; lane < count; ++lane) {
      float* sum = sums.data() + static_cast<std::size_t>(lane) * (width_ + 1) + 1;  // place -1 takes the unread
      place(tags, lane, first, [&](std::size_t c, float v) { sum[input_of_[c]] += v; });
    }
    for (std::size_t n = 0; n < width_; ++n)
      for (std::size_t lane = 0; lane < kLanes; ++lane) panel[n * kLanes + lane] = sums[lane * (width_ + 1) + 1 + n];
  }

  Index row_at(std::size_t i) const { return rows_.empty() ? static_cast<Index>(i) : rows_[i]; }

  const InputRows& inputs_;
  std::span<const Index> input_of_;
  std::span<const Index> rows_;
  std::size_t width_;
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

// Equal rows are looked for after 8, 16, 32, … layers: rows grow alike with depth.
Index merge_point_after(Index layer, Index layers, bool merge) {
  if (!merge) return layers;
  Index point = 8;
  while (point <= layer) point *= 2;
  return std::min(point, layers);
}

// A layer's rows may retire if all that follow keep saturated rows saturated.
std::vector<char> retiring_layers(const PlanSource& plan, bool enabled) {
  const Index layers = plan.layers();
  std::vector<char> retires(static_cast<std::size_t>(layers), 0);
  if (!enabled || !plan.resident()) return retires;
  for (Index l = layers; l-- > 0;) {
    const auto& layer = *plan.layer(l);
    retires[static_cast<std::size_t>(l)] = layer.activation == Activation::relu && layer.cap < kNoCap;
    if (!layer.saturation_stays) break;
  }
  return retires;
}

}  // namespace

RunResult run(const PlanSource& plan, const InputRows& inputs, std::span<const Index> input_of,
              std::span<const Index> rows, const RunOptions& options, const Observer& observer) {
  const Index layers = plan.layers();
  assert(input_of.empty() ? inputs.cols == plan.inputs() : input_of.size() == static_cast<std::size_t>(inputs.cols));
  const bool merge = options.merge_rows && !options.output;
  std::vector<char> alive(static_cast<std::size_t>(inputs.rows), 0);
  std::vector<Index> absorbed_by(static_cast<std::size_t>(inputs.rows), -1);
  const std::vector<char> retires = retiring_layers(plan, merge);
  Tally total(static_cast<std::size_t>(layers));

  InputFeed input_feed(inputs, input_of, rows, plan.inputs());
  const std::size_t share = options.memory_limit / 4;  // this segment, the next one, and two of rows
  while (input_feed.taken() < input_feed.total()) {
    std::unique_ptr<RowStore> waiting;
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
      const std::size_t row_bytes = std::max<std::size_t>(1, static_cast<std::size_t>(width) * sizeof(float));
      auto reached = std::make_unique<RowStore>(width, std::max(kLanes, share / row_bytes));
      const Shared shared{options, observer, retires, plan.keeps_zero(), last, reached.get(), alive};

      std::mutex report_mutex;
      std::atomic<std::size_t> next_waiting{0};
      const bool from_inputs = waiting == nullptr;
      const auto feed = [&](float* panel, RowTag* tags) -> int {
        if (from_inputs) {
          // Leave room for the rows under way in every thread; the rest of the inputs gets a pass of its own.
          if (!last && reached->size() + kLanes * static_cast<std::size_t>(threads()) * 4 > reached->capacity() &&
              reached->size() > 0)
            return 0;
          const int count = input_feed.fill(panel, tags);
          if (const std::unique_lock lock(report_mutex, std::try_to_lock); lock)
            observer.report("run", static_cast<double>(input_feed.taken()), static_cast<double>(input_feed.total()),
                            "inputs");
          return count;
        }
        const std::size_t first = next_waiting.fetch_add(kLanes);
        if (first >= waiting->size()) return 0;
        const auto count = static_cast<Index>(std::min(kLanes, waiting->size() - first));
        waiting->fill_panel(first, count, panel);
        for (Index lane = 0; lane < count; ++lane) tags[lane] = waiting->tag(first + static_cast<std::size_t>(lane));
        return count;
      };
      std::vector<Tally> tallies(static_cast<std::size_t>(threads()), Tally(static_cast<std::size_t>(layers)));
      parallel_workers([&](int worker) {
        Worker one(segment, shared, tallies[static_cast<std::size_t>(worker)]);
        one.work(feed);
      });
      for (const Tally& tally : tallies)
        for (std::size_t l = 0; l < total.live.size(); ++l) {
          total.live[l] += tally.live[l];
          total.computed[l] += tally.computed[l];
          total.retired[l + 1] += tally.retired[l + 1];
        }
      if (!from_inputs) observer.report("run", segment.end(), layers, "layers");
      if (last || reached->size() == 0) break;
      if (merge) reached->merge_equal_rows(absorbed_by);
      waiting = std::move(reached);
      segment = next.get();
    }
  }

  // A row that was absorbed ends as the one that stands for it. Chains lead to rows merged later, so each link is
  // followed to its end.
  RunResult result;
  const auto collect = [&](Index row) {
    Index stands = row;
    while (absorbed_by[static_cast<std::size_t>(stands)] >= 0) stands = absorbed_by[static_cast<std::size_t>(stands)];
    if (alive[static_cast<std::size_t>(stands)]) result.live.push_back(row);
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

}  // namespace filigree
