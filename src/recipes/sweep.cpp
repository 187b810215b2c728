// SPDX-License-Identifier: Apache-2.0
// Dense and sparse networks with as many weights, over a range of budgets.
#include "filigree/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "base/error.h"
#include "data/data.h"
#include "filigree/runtime.h"
#include "io/atomic_file.h"
#include "io/directory_lock.h"
#include "io/source.h"
#include "report/plot.h"
#include "train/topology.h"

namespace filigree {

using namespace internal;

namespace {

const char* const kCsv = "sweep.csv";
const char* const kHeader = "budget,kind,seed,network,connections,flops,test_score,seconds\n";

Offset weights_of(const std::vector<Index>& network) {
  Offset sum = 0;
  for (std::size_t l = 0; l + 1 < network.size(); ++l)
    sum += static_cast<Offset>(network[l]) * network[l + 1];
  return sum;
}

std::vector<Index> with_width(const std::vector<Index>& large, Index width) {
  std::vector<Index> network = large;
  std::fill(network.begin() + 1, network.end() - 1, width);
  return network;
}

// The widest dense network that the budget has the weights for.
std::vector<Index> dense_network(const std::vector<Index>& large, Offset budget) {
  if (weights_of(with_width(large, 1)) > budget)
    fail("{} weights are too few for a dense network; {} are the least", budget,
         weights_of(with_width(large, 1)));
  Index low = 1, high = 1 << 20;  // low fits
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (weights_of(with_width(large, middle)) <= budget ? low : high) = middle;
  }
  return with_width(large, low);
}

std::string row_of(const SweepPoint& p) {
  return fmt::format("{},{},{},{},{},{},{},{:.3f}\n", p.budget, p.dense ? "dense" : "sparse", p.seed,
                     fmt::join(p.network, "-"), p.connections, 2 * p.connections, p.accuracy, p.seconds);
}

template <typename T>
T number(const std::string& text, const std::string& where) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) fail("{}: '{}' is no number", where, text);
  return value;
}

std::vector<SweepPoint> read_points(const std::filesystem::path& path) {
  std::istringstream lines(read_text(path, std::size_t{1} << 26));
  std::string line;
  std::getline(lines, line);
  if (line + "\n" != kHeader) fail("{}:1: is not the result of a sweep", path.string());
  std::vector<SweepPoint> points;
  for (int at = 2; std::getline(lines, line); ++at) {
    const std::string where = fmt::format("{}:{}", path.string(), at);
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, ',');) fields.push_back(field);
    if (fields.size() != 8) fail("{}: {} values instead of 8", where, fields.size());
    SweepPoint& p = points.emplace_back();
    p.budget = number<Offset>(fields[0], where);
    p.dense = fields[1] == "dense";
    p.seed = number<std::uint64_t>(fields[2], where);
    std::istringstream widths(fields[3]);
    for (std::string width; std::getline(widths, width, '-');)
      p.network.push_back(number<Index>(width, where));
    p.connections = number<Offset>(fields[4], where);
    p.accuracy = number<double>(fields[6], where);
    p.seconds = number<double>(fields[7], where);
  }
  return points;
}

struct MeanAndHalf {
  double mean = 0, half = 0;
};

// 17,234: 17000.
Offset two_digits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 1);
  return std::llround(std::round(value / unit) * unit);
}

// The 95 % confidence interval of the mean, by Student's t.
MeanAndHalf interval(const std::vector<double>& values) {
  constexpr double kStudent[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086};
  const double n = values.size();
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (values.size() < 2) return {mean, 0};
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  const double t = values.size() - 2 < std::size(kStudent) ? kStudent[values.size() - 2] : 2.08;
  return {mean, t * std::sqrt(squares / (n - 1) / n)};
}

// Where the lead of sparse falls to zero for the last time, on the logarithm of the weights.
std::optional<double> crossing_of(const std::vector<SweepMean>& means) {
  for (std::size_t i = means.size(); i-- > 1;) {
    const double before = means[i - 1].sparse - means[i - 1].dense, after = means[i].sparse - means[i].dense;
    if (before > 0 && after <= 0) {
      const double a = std::log(means[i - 1].connections), b = std::log(means[i].connections);
      return std::exp(a + (b - a) * before / (before - after));
    }
    if (after > 0) break;  // sparse leads at the end
  }
  return std::nullopt;
}

std::string sentence_of(const SweepResult& result, const std::string& data) {
  const std::vector<SweepMean>& means = result.means;
  const auto lead = [](const SweepMean& m) { return 100 * (m.sparse - m.dense); };
  const auto most = std::ranges::max_element(means, {}, lead);
  const auto ahead = std::ranges::count_if(means, [&](const SweepMean& m) { return lead(m) > 0; });
  const auto clear = std::ranges::count_if(means, [&](const SweepMean& m) {
    return m.sparse - m.dense > std::hypot(m.dense_half, m.sparse_half);
  });
  if (ahead == 0)
    return fmt::format("On {} the large sparse network is not ahead at any of the {} budgets.", data,
                       means.size());
  std::string text = fmt::format(
      "On {} the large sparse network is ahead on average at {} of {} budgets{}, most at {} weights ({:.2f} "
      "points)",
      data, ahead, means.size(),
      most->dense_half + most->sparse_half > 0 ? fmt::format(", by more than the 95 % intervals at {}", clear)
                                               : "",
      most->connections, lead(*most));
  if (result.crossing)
    text += fmt::format("; from about {} weights on the dense ones are ahead", two_digits(*result.crossing));
  return text + ".";
}

SweepResult summary(std::vector<SweepPoint> points, const std::string& data) {
  SweepResult result;
  result.points = std::move(points);
  for (const SweepPoint& p : result.points) {
    if (std::ranges::any_of(result.means, [&](const SweepMean& m) { return m.connections == p.connections; }))
      continue;
    std::vector<double> dense, sparse;
    for (const SweepPoint& other : result.points)
      if (other.connections == p.connections) (other.dense ? dense : sparse).push_back(other.accuracy);
    const MeanAndHalf d = interval(dense), s = interval(sparse);
    result.means.push_back({p.connections, d.mean, s.mean, d.half, s.half});
  }
  std::ranges::sort(result.means, {}, &SweepMean::connections);
  result.crossing = crossing_of(result.means);
  result.sentence = sentence_of(result, data);
  return result;
}

Plot plot_of(const SweepResult& result, const SweepOptions& options, const std::string& data) {
  Plot plot;
  plot.title = fmt::format("{}: dense networks and a large sparse one with as many weights", data);
  plot.x_name = "weights (a row takes twice as many operations)";
  plot.y_name = "test error, %";
  PlotLine dense{"dense", "#c8553d", {}},
      sparse{fmt::format("sparse, {}", fmt::join(options.training.network.neurons, "-")), "#1f6f8b", {}};
  constexpr double kLeast = 0.0001;
  for (const SweepMean& m : result.means) {
    const double weights = m.connections;
    dense.points.push_back(error_point(weights, m.dense, m.dense_half, kLeast));
    sparse.points.push_back(error_point(weights, m.sparse, m.sparse_half, kLeast));
  }
  plot.lines = {std::move(dense), std::move(sparse)};
  if (result.crossing) {
    plot.mark = *result.crossing;
    plot.mark_name = "dense ahead from here on";
  }
  return plot;
}

// All runs, dense and sparse, seed by seed.
std::vector<SweepPoint> planned(const SweepOptions& options) {
  std::vector<SweepPoint> plan;
  const Offset all = weights_of(options.training.network.neurons);
  for (const Offset budget : options.budgets) {
    const std::vector<Index> dense = dense_network(options.training.network.neurons, budget);
    const Offset connections = weights_of(dense);
    if (!plan.empty() && plan.back().connections == connections) continue;  // as wide as the one before
    if (connections > all) fail("{} weights are more than the {} of the large network", connections, all);
    for (int i = 0; i < options.seeds; ++i)
      for (const bool is_dense : {true, false})
        plan.push_back({budget, is_dense, options.training.run.seed + i,
                        is_dense ? dense : options.training.network.neurons, connections});
  }
  return plan;
}

TrainOptions training_of(const SweepPoint& point, const SweepOptions& options) {
  TrainOptions own = options.training;
  own.network.neurons = point.network;
  own.run.seed = point.seed;
  own.network.dense = point.dense;
  own.network.sparsity =
      point.dense ? 0 : 1 - static_cast<double>(point.connections) / weights_of(point.network);
  if (!point.dense) connections_per_layer(own);  // fails if a layer would be left without
  return own;
}

}  // namespace

std::vector<Offset> default_budgets(const TrainOptions& options) {
  constexpr Index kFirstWidth = 2;
  const Offset all = weights_of(options.network.neurons);
  std::vector<Offset> budgets;
  for (Offset b = weights_of(with_width(options.network.neurons, kFirstWidth)); b <= all; b *= 2)
    budgets.push_back(b);
  return budgets;
}

SweepResult sweep(const Data& data, const SweepOptions& options, const RunDirectory& directory,
                  const Observer& observer) {
  if (directory.path.empty()) throw std::invalid_argument("a sweep needs a directory");
  if (options.budgets.empty() || options.seeds < 1 || options.training.network.neurons.size() < 3)
    throw std::invalid_argument(fmt::format("{} budgets, {} seeds, a network of {} layers of neurons",
                                            options.budgets.size(), options.seeds,
                                            options.training.network.neurons.size()));
  if (data.test_rows() == 0) fail("a sweep needs test rows, and the data has none");
  const std::vector<SweepPoint> plan = planned(options);
  for (const SweepPoint& point : plan) training_of(point, options);
  make_directory(directory.path);
  const auto lock = lock_directory(directory.path);
  const std::filesystem::path csv = directory.path / kCsv;
  if (!directory.resume) require_no_run(directory.path);
  std::vector<SweepPoint> points;
  if (directory.resume && std::filesystem::exists(csv)) points = read_points(csv);
  if (!directory.resume) {
    write_file(directory.path / "config.toml", to_toml({data.impl().options, options.training}));
    write_file(directory.path / "sweep.json",
               nlohmann::json{{"budgets", options.budgets}, {"seeds", options.seeds}}.dump());
  }
  const auto done = [&](const SweepPoint& p) {
    return std::ranges::any_of(points, [&](const SweepPoint& other) {
      return other.budget == p.budget && other.dense == p.dense && other.seed == p.seed;
    });
  };
  for (std::size_t i = 0; i < plan.size(); ++i) {
    SweepPoint point = plan[i];
    if (done(point)) continue;
    observer.report("sweep", i, plan.size(), "runs");
    TrainObserver training;
    training.stop = observer.stop;
    const TrainRun run = train(data, training_of(point, options), {}, training);
    point.accuracy = run.test_score;
    point.seconds = run.seconds;
    points.push_back(point);
    std::string text = kHeader;
    for (const SweepPoint& p : points) text += row_of(p);
    write_file(csv, text);
  }
  observer.report("sweep", plan.size(), plan.size(), "runs");
  const std::string name = data.impl().dataset.name;
  SweepResult result = summary(std::move(points), name);
  write_file(directory.path / "sweep.svg", to_svg(plot_of(result, options, name)));
  return result;
}

SweepStart read_sweep_start(const std::filesystem::path& directory) {
  const TrainConfig config = read_config(directory / "config.toml");
  try {
    const nlohmann::json json = nlohmann::json::parse(read_text(directory / "sweep.json"));
    return {config.data, {config.options, json.at("budgets").get<std::vector<Offset>>(), json.at("seeds")}};
  } catch (const nlohmann::json::exception& error) {
    fail("{}: does not say how the sweep was begun: {}", (directory / "sweep.json").string(), error.what());
  }
}

}  // namespace filigree
