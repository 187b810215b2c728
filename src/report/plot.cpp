// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <span>

namespace filigree::internal {

namespace {

constexpr double kWidth = 720, kHeight = 440;
constexpr double kLeft = 76, kRight = 24, kTop = 48, kBottom = 64;

using Out = std::back_insert_iterator<std::string>;

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else
      safe += c;
  }
  return safe;
}

std::string short_number(double v) {
  if (v >= 1e6) return fmt::format("{:g}M", v / 1e6);
  return v >= 1e3 ? fmt::format("{:g}k", v / 1e3) : fmt::format("{:g}", v);
}

bool drawable(const PlotPoint& p) {
  return std::ranges::all_of(std::array{p.x, p.y, p.low, p.high},
                             [](double v) { return std::isfinite(v) && v > 0; });
}

// One axis: from numbers to a share of its length, by their logarithms or evenly.
class Axis {
 public:
  explicit Axis(bool even) : even_(even) {}
  void include(double v) {
    low_ = std::min(low_, on_axis(v));
    high_ = std::max(high_, on_axis(v));
  }
  void close(double spare) {
    if (low_ > high_) low_ = 0, high_ = 1;  // nothing to show
    const double more = std::max((high_ - low_) * spare, high_ - low_ < 1e-9 ? 0.1 : 0.0);
    low_ -= more;
    high_ += more;
  }
  double share(double v) const { return (on_axis(v) - low_) / (high_ - low_); }
  // Round numbers, as many as there is room for: of decades, or in equal steps if the axis is short.
  std::vector<double> ticks(std::size_t most) const {
    if (even_ || high_ - low_ < 0.4) return equal_steps(most);
    for (const std::vector<double>& steps : {std::vector<double>{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9},
                                             {1, 1.5, 2, 3, 4, 5, 7},
                                             {1, 2, 5},
                                             {1}}) {
      std::vector<double> found;
      for (int decade = std::floor(low_); decade <= high_; ++decade)
        for (const double step : steps)
          if (const double v = step * std::pow(10, decade); share(v) >= -1e-9 && share(v) <= 1 + 1e-9)
            found.push_back(v);
      if (found.size() <= most) return found;
    }
    return {};
  }

 private:
  std::vector<double> equal_steps(std::size_t most) const {
    const double first = even_ ? low_ : std::pow(10, low_), last = even_ ? high_ : std::pow(10, high_);
    for (int decade = static_cast<int>(std::floor(std::log10(std::max(last - first, 1e-12)))) - 3;; ++decade)
      for (const double step : {1.0, 2.0, 5.0}) {
        const double size = step * std::pow(10, decade);
        std::vector<double> found;
        for (double i = std::ceil(first / size); i * size <= last && found.size() <= most; ++i)
          found.push_back(i * size);
        if (found.size() <= most) return found;
      }
  }

  double on_axis(double v) const { return even_ ? v : std::log10(v); }

  bool even_;
  double low_ = 1e300, high_ = -1e300;
};

// Where numbers are on the paper.
struct Frame {
  Axis across, up;

  explicit Frame(const Plot& plot) : across(plot.even), up(plot.even) {
    for (const PlotLine& line : plot.lines)
      for (const PlotPoint& p : line.points) {
        if (!drawable(p)) continue;
        across.include(p.x);
        up.include(p.low);
        up.include(p.high);
      }
    across.close(plot.even ? 0.04 : 0);
    up.close(0.05);
  }
  double x(double v) const { return kLeft + across.share(v) * (kWidth - kLeft - kRight); }
  double y(double v) const { return kHeight - kBottom - up.share(v) * (kHeight - kTop - kBottom); }
};

void draw_axes(std::string& svg, const Plot& plot, const Frame& frame) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double v : frame.up.ticks(9))
    fmt::format_to(Out(svg),
                   "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e4e4\"/>"
                   "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
                   kLeft, right, frame.y(v), kLeft - 8, frame.y(v) + 4, std::round(v * 1e6) / 1e6);
  for (const double v : frame.across.ticks(10))
    fmt::format_to(Out(svg),
                   "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#888\"/>"
                   "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
                   frame.x(v), bottom, bottom + 5, bottom + 20, short_number(v));
  fmt::format_to(Out(svg),
                 "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}H{3:.1f}\" fill=\"none\" stroke=\"#888\"/>\n"
                 "<text x=\"{4:.1f}\" y=\"{5:.1f}\" text-anchor=\"middle\">{6}</text>\n"
                 "<text transform=\"translate(20 {7:.1f}) rotate(-90)\" text-anchor=\"middle\">{8}</text>\n"
                 "<text x=\"{4:.1f}\" y=\"26\" text-anchor=\"middle\" font-size=\"16\">{9}</text>\n",
                 kLeft, kTop, bottom, right, (kLeft + right) / 2, kHeight - 18, escaped(plot.x_name),
                 (kTop + bottom) / 2, escaped(plot.y_name), escaped(plot.title));
}

// One text for points that lie so close to each other that their own would overlap: "0.9 to 0.95".
void draw_labels(std::string& svg, std::span<const PlotPoint> points, const Frame& frame) {
  constexpr double kAcross = 34, kDown = 12;  // pixels of a short label
  for (std::size_t i = 0; i < points.size();) {
    const PlotPoint& first = points[i];
    std::size_t end = i + 1;
    while (end < points.size() && std::fabs(frame.x(points[end].x) - frame.x(first.x)) < kAcross &&
           std::fabs(frame.y(points[end].y) - frame.y(first.y)) < kDown)
      ++end;
    const std::string& last = points[end - 1].label;
    const std::string text = end - i > 1 && !last.empty() ? first.label + " to " + last : first.label;
    if (!first.label.empty())
      fmt::format_to(Out(svg), "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\">{}</text>\n",
                     frame.x(first.x) + 6, frame.y(first.y) - 6, escaped(text));
    i = end;
  }
}

void draw_line(std::string& svg, const PlotLine& line, const Frame& frame, double legend_y) {
  std::vector<PlotPoint> points;
  std::ranges::copy_if(line.points, std::back_inserter(points), drawable);
  std::string along, there, back;
  for (const PlotPoint& p : points) {
    fmt::format_to(Out(along), "{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.y));
    fmt::format_to(Out(there), "{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.high));
  }
  for (auto p = points.rbegin(); p != points.rend(); ++p)
    fmt::format_to(Out(back), "{:.1f},{:.1f} ", frame.x(p->x), frame.y(p->low));
  if (line.joined)
    fmt::format_to(Out(svg),
                   "<polygon points=\"{0}{1}\" fill=\"{2}\" opacity=\"0.18\"/>\n"
                   "<polyline points=\"{3}\" fill=\"none\" stroke=\"{2}\" stroke-width=\"2\"/>\n",
                   there, back, line.colour, along);
  draw_labels(svg, points, frame);
  for (const PlotPoint& p : points)
    fmt::format_to(Out(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", frame.x(p.x),
                   frame.y(p.y), line.colour);
  const double y = legend_y;
  fmt::format_to(Out(svg),
                 "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
                 "stroke-width=\"3\"/><text x=\"{4:.1f}\" y=\"{5:.1f}\" text-anchor=\"end\">{6}</text>\n",
                 kWidth - kRight - 34, kWidth - kRight - 10, y, line.colour, kWidth - kRight - 42, y + 5,
                 escaped(line.name));
}

}  // namespace

PlotPoint error_point(double x, double accuracy, double half, double least) {
  const double error = std::max(100 * least, 100 * (1 - accuracy));
  return {x, error, std::max(error - 100 * half, 100 * least), std::min(error + 100 * half, 100.0)};
}

std::string to_svg(const Plot& plot) {
  const Frame frame(plot);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  draw_axes(svg, plot, frame);
  if (plot.mark > 0)
    fmt::format_to(
        Out(svg),
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" stroke=\"#555\" "
        "stroke-dasharray=\"5 4\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        frame.x(plot.mark), kTop, kHeight - kBottom, frame.x(plot.mark) - 6, kHeight - kBottom - 8,
        escaped(plot.mark_name));
  const double first =
      plot.legend_below ? kHeight - kBottom - 22 * static_cast<double>(plot.lines.size()) : kTop + 14;
  for (std::size_t i = 0; i < plot.lines.size(); ++i)
    draw_line(svg, plot.lines[i], frame, first + 22 * static_cast<double>(i));
  return svg + "</svg>\n";
}

}  // namespace filigree::internal
