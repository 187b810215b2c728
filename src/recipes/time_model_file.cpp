// SPDX-License-Identifier: Apache-2.0
// Time models as files, and held against the clock.
#include "infer/time_model.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/median.h"
#include "base/parallel.h"
#include "base/system.h"
#include "data/data.h"
#include "filigree/compress.h"
#include "filigree/runtime.h"
#include "infer/rows_loader.h"
#include "io/source.h"

namespace filigree {

using namespace internal;

namespace {

constexpr int kTurns = 51;
constexpr Index kMostRows = 65536;

PartPrices prices_of(const TimeModel& model) {
  PartPrices prices;
  for (std::size_t p = 0; p < kTimeParts; ++p) prices.seconds[p] = model.parts[p].seconds;
  return prices;
}

}  // namespace

TimeModel measure_time_model(Index rows, const Observer& observer) {
  if (rows < kPanelRows || rows > kMostRows)
    throw std::invalid_argument(
        fmt::format("a time model is for {} to {} rows, not for {}", kPanelRows, kMostRows, rows));
  const std::size_t count = rows;
  constexpr int kRounds = 15;
  observer.report("time model", 0, 1, "rounds");
  observer.check_stop();
  const PartPrices prices = fit_prices(price_samples(count), count, kRounds, observer);
  TimeModel model{processor_name(), simd_name(), threads(), rows};
  for (std::size_t p = 0; p < kTimeParts; ++p)
    model.parts.push_back({time_part_names()[p], prices.seconds[p]});
  model.error = prices.error;
  model.worst_error = prices.worst_error;
  model.yardstick_seconds = prices.yardstick;
  return model;
}

void write_time_model(const TimeModel& model, const std::filesystem::path& path) {
  nlohmann::ordered_json parts;
  for (const TimeModel::Part& part : model.parts) parts[part.name] = part.seconds;
  const nlohmann::ordered_json json = {{"processor", model.processor},
                                       {"simd", model.simd},
                                       {"threads", model.threads},
                                       {"rows", model.rows},
                                       {"seconds", parts},
                                       {"error", model.error},
                                       {"worst_error", model.worst_error},
                                       {"yardstick_seconds", model.yardstick_seconds}};
  write_file(path, json.dump(2) + "\n");
}

TimeModel read_time_model(const std::filesystem::path& path) {
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(path));
    TimeModel model{json.at("processor"), json.at("simd"), json.at("threads"), json.at("rows")};
    const auto price = [&](const nlohmann::json& value, const std::string& what) {
      const double seconds = value;
      if (!(seconds >= 0)) fail("{}: {} is {} seconds", path.string(), what, seconds);
      return seconds;
    };
    for (const char* name : time_part_names())
      model.parts.push_back({name, price(json.at("seconds").at(name), name)});
    model.error = json.at("error");
    model.worst_error = json.at("worst_error");
    model.yardstick_seconds = price(json.at("yardstick_seconds"), "yardstick_seconds");
    if (model.rows < kPanelRows || model.rows > kMostRows || model.yardstick_seconds == 0)
      fail("{}: {} rows, yardstick {} s", path.string(), model.rows, model.yardstick_seconds);
    return model;
  } catch (const nlohmann::json::exception& error) {
    fail("{}: is no time model: {}", path.string(), error.what());
  }
}

std::string why_not_here(const TimeModel& model) {
  if (model.processor != processor_name())
    return fmt::format("it was measured on {}, this is {}", model.processor, processor_name());
  if (model.simd != simd_name())
    return fmt::format("it was measured with {} instructions, now they are {}", model.simd, simd_name());
  if (model.threads != threads())
    return fmt::format("it was measured with {} threads, now there are {}", model.threads, threads());
  return "";
}

void set_costs(TrainOptions& options, const TimeModel& model) {
  const PartPrices prices = prices_of(model);
  constexpr double kLanes = kPanelRows;
  const double panels = std::ceil(model.rows / kLanes);
  options.pruning.connection_cost = 1e9 * panels * prices[TimePart::eights];
  options.pruning.neuron_cost = 1e9 * panels * prices[TimePart::output];
  options.pruning.input_cost = 1e9 * panels * (prices[TimePart::input] + prices[TimePart::column]);
}

TimeCheck check_time(const TimeModel& model, const Network& network, const Data& data,
                     const Observer& observer) {
  const Dataset& dataset = data.impl().dataset;
  const DataRows& rows = dataset.test.rows >= model.rows ? dataset.test : dataset.train;
  const std::size_t count = model.rows;
  if (rows.rows < model.rows) fail("{} rows are too few for a call of {}", rows.rows, model.rows);
  const Plan plan = compile(network, {}, observer);
  const Plan::Impl& ready = plan.impl();
  Yardstick yardstick(count);
  const MakeLoader loader = loader_of(rows, 0, count, ready);
  std::vector<double> times, ratios;
  for (int i = 0; i < kTurns; ++i) {
    observer.check_stop();
    times.push_back(warm_seconds([&] { ready.run(count, loader, {}); }));
    ratios.push_back(times.back() / yardstick.seconds());
  }
  return {prices_of(model).of(count_parts(*ready.layers, ready.input_map, count)), median(times),
          median(ratios) * model.yardstick_seconds};
}

}  // namespace filigree
