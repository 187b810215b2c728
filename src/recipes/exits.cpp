// SPDX-License-Identifier: Apache-2.0
#include "filigree/exits.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/median.h"
#include "filigree/runtime.h"
#include "network/network.h"
#include "report/plot.h"

namespace filigree {

using namespace internal;

std::vector<double> default_exit_thresholds() {
  return {0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1};
}

ExitCurve exit_curve(const Network& network, const Data& data, const ExitCurveOptions& options,
                     const Observer& observer) {
  if (network.parts().exits.empty()) fail("{}: the network has no exits", network.describe());
  std::vector<double> thresholds = options.thresholds;
  const int repeat = options.repeat;
  std::ranges::sort(thresholds);
  if (thresholds.empty() || thresholds.back() < 1) thresholds.push_back(1);
  ExitCurve curve;
  for (const double threshold : thresholds) curve.points.push_back({threshold});
  std::vector<Plan> plans;  // each made once
  plans.reserve(thresholds.size());
  for (const double threshold : thresholds) plans.push_back(compile(network, {threshold}, observer));
  std::vector<std::vector<double>> seconds(thresholds.size());
  for (int i = 0; i < repeat; ++i) {
    for (std::size_t p = 0; p < curve.points.size(); ++p) {
      observer.report("curve", i * curve.points.size() + p, repeat * curve.points.size(), "runs");
      Observer quiet;
      quiet.stop = observer.stop;
      curve.points[p].evaluation = evaluate(plans[p], data, {.part = options.part, .ranks = false}, quiet);
      if (const double loss = curve.points[p].evaluation.loss; !std::isfinite(loss))
        fail("{}: the loss is {}: the network gives outputs that are not finite on these rows",
             network.describe(), loss);
      seconds[p].push_back(curve.points[p].evaluation.seconds);
    }
  }
  for (std::size_t p = 0; p < curve.points.size(); ++p) {
    curve.points[p].seconds = median(seconds[p]);
    curve.points[p].fastest = std::ranges::min(seconds[p]);
    curve.points[p].slowest = std::ranges::max(seconds[p]);
  }
  curve.rows = curve.points.front().evaluation.rows;
  return curve;
}

void write_exit_plot(const std::filesystem::path& path, const ExitCurve& curve, const std::string& title) {
  Plot plot;
  plot.title = title;
  plot.even = true;
  plot.x_name = "connections computed for a row, on average";
  plot.y_name = "error, %";
  PlotLine line{fmt::format("thresholds {:g} to {:g}, 95 % intervals", curve.points.front().threshold,
                            curve.points.back().threshold),
                "#1f6f8b",
                {}};
  const double half_a_row = 0.5 / curve.rows;
  for (const ExitPoint& point : curve.points) {
    const double error = std::max(1 - point.evaluation.accuracy, half_a_row);
    const double half = 1.96 * std::sqrt(error * (1 - error) / curve.rows);
    line.points.push_back(
        error_point(point.evaluation.connections_per_row, point.evaluation.accuracy, half, half_a_row));
    line.points.back().label = fmt::format("{:g}", point.threshold);
  }
  plot.lines.push_back(std::move(line));
  write_file(path, to_svg(plot));
}

}  // namespace filigree
