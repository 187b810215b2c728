// SPDX-License-Identifier: Apache-2.0
#include "infer/time_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/median.h"
#include "base/random.h"
#include "base/system.h"

namespace filigree::internal {

namespace {

constexpr std::size_t kLanes = kPanelRows;
constexpr Index kNearInputs = 256;  // of a tile: 32 KiB of a panel

// Which connections a layer to be timed has.
struct Sample {
  Index columns = 0;          // values of a row
  std::vector<Index> layers;  // neurons, inputs first
  Index side = 1;             // outputs in a row that share their inputs
  double density = 1;
  Activation activation = Activation::relu;
};

Layer random_layer(const Sample& sample, Index inputs, Index outputs, Random& random) {
  Layer layer;
  layer.activation = sample.activation;
  layer.weights.rows = outputs;
  layer.weights.cols = inputs;
  std::vector<Index> reads;
  for (Index r = 0; r < outputs; ++r) {
    if (r % sample.side == 0) {
      reads.clear();
      for (Index c = 0; c < inputs; ++c)
        if (sample.density >= 1 || random.uniform() < sample.density) reads.push_back(c);
    }
    layer.weights.column.insert(layer.weights.column.end(), reads.begin(), reads.end());
    for (std::size_t e = 0; e < reads.size(); ++e)
      layer.weights.value.push_back(random.normal() / std::sqrt(inputs));
    layer.weights.row_begin.push_back(layer.weights.nnz());
    layer.bias.push_back(0.1f);
  }
  return layer;
}

TimedPlan make_plan(const Sample& sample, std::size_t rows, Random& random) {
  std::vector<std::shared_ptr<const PlanLayer>> layers;
  for (std::size_t l = 0; l + 1 < sample.layers.size(); ++l) {
    const Layer layer = random_layer(sample, sample.layers[l], sample.layers[l + 1], random);
    layers.push_back(std::make_shared<PlanLayer>(make_plan_layer(layer, facts_of(layer, kNoCap))));
  }
  std::vector<Index> input_of(sample.columns, -1);
  const Index inputs = sample.layers.front();
  for (Index i = 0; i < inputs; ++i)  // spread over the columns, in order
    input_of[std::int64_t{i} * sample.columns / inputs] = i;
  return {std::make_unique<ResidentPlan>(std::move(layers)), InputMap(std::move(input_of), inputs), rows};
}

// Each part is what some of them are mostly made of.
std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const Index n : {16, 64, 256, 1024}) {
    all.push_back({n, {n, 8}});                            // columns
    all.push_back({2 * n, {n, 8}});                        // inputs of every second column
    all.push_back({64, {64, n}});                          // answers
    all.push_back({64, {64, n, 8}});                       // outputs
    all.push_back({n, {n, 128, 128}});                     // full
    all.push_back({n, {n, 128, 128}, 4, 0.3});             // fours
    all.push_back({64, {64, n}, 1, 1, Activation::tanh});  // curves
  }
  for (const double density : {0.03, 0.1, 0.3}) {
    all.push_back({256, {256, 512, 10}, 1, density});
    all.push_back({256, {256, 256, 256, 256}, 1, density});
    all.push_back({784, {784, 512, 512, 10}, 1, density});
    all.push_back({1024, {1024, 1024, 10}, 1, density});
    all.push_back({784, {784, 512, 512, 10}, 8, density});
    all.push_back({784, {784, 512, 512, 10}, 4, density});
  }
  all.push_back({2048, {2048, 2048, 10}, 1, 0.01});  // too few connections for tiles
  all.push_back({4096, {4096, 1024, 10}, 1, 0.005});
  all.push_back({784, {784, 512, 512, 10}});  // what networks are like
  all.push_back({784, {784, 300, 100, 10}});
  all.push_back({784, {784, 100, 300, 10}});
  all.push_back({784, {784, 512, 512, 10}, 1, 0.05});
  all.push_back({784, {300, 100, 300, 10}});
  all.push_back({784, {240, 96, 256, 10}});
  all.push_back({512, {512, 3, 512, 3}});  // alone
  return all;
}

// The prices that come nearest to one for every row of `counts`, none of them negative: one price after the
// other, until they stay.
PartCounts fit(const std::vector<PartCounts>& counts) {
  constexpr int kSweeps = 20000;
  PartCounts price = {};
  std::vector<double> left(counts.size(), 1.0);
  for (int sweep = 0; sweep < kSweeps; ++sweep)
    for (std::size_t p = 0; p < kTimeParts; ++p) {
      double along = 0, square = 0;
      for (std::size_t i = 0; i < counts.size(); ++i) {
        along += counts[i][p] * left[i];
        square += counts[i][p] * counts[i][p];
      }
      if (square == 0) continue;
      const double next = std::max(0.0, price[p] + along / square);
      for (std::size_t i = 0; i < counts.size(); ++i) left[i] -= (next - price[p]) * counts[i][p];
      price[p] = next;
    }
  return price;
}

// Those of blocks that hold one that is read.
double columns_loaded(const InputMap& map) {
  if (map.adds_up() || map.columns() < kLoadBlock) return map.columns();
  double sum = 0;
  for (std::size_t c = 0; c < map.columns(); c += kLoadBlock) {
    const auto first = map.all().begin() + static_cast<std::ptrdiff_t>(c);
    const std::size_t width = std::min(kLoadBlock, map.columns() - c);
    if (std::any_of(first, first + static_cast<std::ptrdiff_t>(width), [](Index i) { return i >= 0; }))
      sum += width;
  }
  return sum;
}

}  // namespace

const std::array<const char*, kTimeParts>& time_part_names() {
  static constexpr std::array<const char*, kTimeParts> kNames = {"call", "column", "input", "output",
                                                                 "run",  "eights", "fours", "near",
                                                                 "far",  "alone",  "curve", "answer"};
  return kNames;
}

PartCounts count_parts(const ResidentPlan& plan, const InputMap& map, std::size_t rows) {
  PartCounts counts = {};
  const auto add = [&](TimePart part, double count) { counts[static_cast<std::size_t>(part)] += count; };
  add(TimePart::column, columns_loaded(map));
  add(TimePart::input, map.inputs() + (map.adds_up() ? static_cast<double>(map.columns()) : 0));
  add(TimePart::answer, plan.layer(plan.layers() - 1)->outputs());
  for (Index l = 0; l < plan.layers(); ++l) {
    const std::shared_ptr<const PlanLayer> layer = plan.layer(l);
    const PackedMatrix& w = layer->weights;
    if (layer->activation.is_curve()) add(TimePart::curve, layer->outputs());
    const PackedMatrix::Run* run = w.runs.data();
    for (std::size_t t = 0; t < w.tiles.size(); ++t) {
      const Index end = t + 1 < w.tiles.size() ? w.tiles[t + 1].first_input : w.cols;
      const bool near = end - w.tiles[t].first_input <= kNearInputs;
      for (const auto* last = run + w.tiles[t].runs; run != last; ++run) {
        const double each = run->connections;
        const std::uint32_t alone = run->shared == 0 ? run->outputs % kPackedGroup : 0;
        add(TimePart::run, 1);
        add(TimePart::output, run->outputs);
        add(TimePart::alone, each * alone);
        add(run->shared >= kWideGroup ? TimePart::eights
            : run->shared > 0         ? TimePart::fours
            : near                    ? TimePart::near
                                      : TimePart::far,
            each * (run->outputs - alone));
      }
    }
  }
  const std::size_t whole_panels = (rows + kLanes - 1) / kLanes;
  const double panels = whole_panels;
  for (double& count : counts) count *= panels;
  add(TimePart::call, 1);
  return counts;
}

double PartPrices::of(const PartCounts& counts) const {
  return std::inner_product(counts.begin(), counts.end(), seconds.begin(), 0.0);
}

TimedPlan::TimedPlan(std::unique_ptr<ResidentPlan> plan, InputMap map, std::size_t rows)
    : plan_(std::move(plan)), map_(std::move(map)), rows_(rows), inputs_(rows * map_.columns()) {
  Random random(rows);
  for (std::uint8_t& v : inputs_) v = static_cast<std::uint8_t>(random.below(256));
  output_of_.resize(plan_->layer(plan_->layers() - 1)->outputs());
  std::iota(output_of_.begin(), output_of_.end(), 0);
  outputs_.resize(rows * output_of_.size());
}

double TimedPlan::seconds() const {
  static const InputScaling kPixels{{}, {1.0f / 255}};
  return warm_seconds([&] {
    run_dense(*plan_, rows_, dense_loader(std::span<const std::uint8_t>(inputs_), kPixels, map_),
              {output_of_, {}}, outputs_, {});
  });
}

Yardstick::Yardstick(std::size_t rows) {
  constexpr int kCopies = 5;
  for (int i = 0; i < kCopies; ++i) {
    Random random(1);
    copies_.push_back(make_plan({256, {256, 256, 256}, 8, 0.5}, rows, random));
  }
}

double Yardstick::seconds() {
  return copies_[next_++ % copies_.size()].seconds();
}

std::vector<TimedPlan> price_samples(std::size_t rows) {
  Random random(2);
  std::vector<TimedPlan> plans;
  for (const Sample& sample : samples()) plans.push_back(make_plan(sample, rows, random));
  return plans;
}

PartPrices fit_prices(const std::vector<TimedPlan>& plans, std::size_t rows, int rounds,
                      const Observer& observer) {
  Yardstick yardstick(rows);
  // In rounds over all networks interleaved with the yardstick: the machine's speed drifts.
  std::vector<std::vector<double>> ratios(plans.size());
  std::vector<double> yardsticks;
  for (int round = 0; round <= rounds; ++round) {
    observer.report("time model", round, rounds + 1, "rounds");
    for (std::size_t i = 0; i < plans.size(); ++i) {
      observer.check_stop();
      const double seconds = plans[i].seconds(), scale = yardstick.seconds();
      if (round == 0) continue;  // warms up
      ratios[i].push_back(seconds / scale);
      yardsticks.push_back(scale);
    }
  }
  observer.report("time model", rounds + 1, rounds + 1, "rounds");
  PartPrices prices;
  prices.yardstick = median(yardsticks);
  std::vector<PartCounts> relative;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    relative.push_back(plans[i].parts());
    for (double& count : relative.back()) count /= median(ratios[i]) * prices.yardstick;
  }
  prices.seconds = fit(relative);
  std::vector<double> errors;
  errors.reserve(relative.size());
  for (const PartCounts& counts : relative) errors.push_back(std::fabs(prices.of(counts) - 1));
  prices.error = median(errors);
  prices.worst_error = std::ranges::max(errors);
  return prices;
}

}  // namespace filigree::internal
