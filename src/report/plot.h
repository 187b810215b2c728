// SPDX-License-Identifier: Apache-2.0
// Plots as SVG: lines with bands, axes by logarithms or even.
#pragma once

#include <string>
#include <vector>

namespace filigree::internal {

struct PlotPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // the band around y
  std::string label = {};    // beside the point
};
struct PlotLine {
  std::string name;
  std::string colour;  // "#1f6f8b"
  std::vector<PlotPoint> points;
  bool joined = true;  // by a line
};
struct Plot {
  std::string title, x_name, y_name;
  std::vector<PlotLine> lines;
  double mark = 0;  // an x to point out; 0: none
  std::string mark_name;
  bool even = false;          // axes that are not logarithmic
  bool legend_below = false;  // lines lie at the top
};

// The error that an accuracy leaves, in %, as a point with its interval: `half` is half of it, a share as the
// accuracy is. An axis by logarithms has no zero: the interval is cut off at `least`, the smallest share that
// is drawn.
PlotPoint error_point(double x, double accuracy, double half, double least);

// Points whose numbers are not finite and above zero are left out.
std::string to_svg(const Plot& plot);

}  // namespace filigree::internal
