#include "report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace filigree {

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
  return std::isfinite(p.x) && p.x > 0 && std::isfinite(p.y) && std::isfinite(p.low) && std::isfinite(p.high);
}

// Where numbers are on the paper.
class Frame {
 public:
  explicit Frame(const Plot& plot) {
    for (const PlotLine& line : plot.lines)
      for (const PlotPoint& p : line.points) {
        if (!drawable(p)) continue;
        x_low_ = std::min(x_low_, std::log10(p.x));
        x_high_ = std::max(x_high_, std::log10(p.x));
        y_low_ = std::min(y_low_, p.low);
        y_high_ = std::max(y_high_, p.high);
      }
    if (x_low_ > x_high_) x_low_ = 0, x_high_ = 1, y_low_ = 0, y_high_ = 1;  // nothing to show
    if (x_high_ - x_low_ < 1e-9) x_low_ -= 0.5, x_high_ += 0.5;
    const double spare = std::max((y_high_ - y_low_) * 0.06, 1e-6);
    y_low_ -= spare;
    y_high_ += spare;
    const double raw = (y_high_ - y_low_) / 6, ten = std::pow(10, std::floor(std::log10(raw)));
    step_ = raw / ten > 5 ? 10 * ten : raw / ten > 2 ? 5 * ten : raw / ten > 1 ? 2 * ten : ten;
  }
  double x(double v) const {
    return kLeft + (std::log10(v) - x_low_) / (x_high_ - x_low_) * (kWidth - kLeft - kRight);
  }
  double y(double v) const { return kTop + (y_high_ - v) / (y_high_ - y_low_) * (kHeight - kTop - kBottom); }
  std::vector<double> x_ticks() const {
    std::vector<double> ticks;
    for (double decade = std::floor(x_low_); decade <= x_high_; ++decade)
      for (const double m : {1.0, 2.0, 5.0}) {
        const double v = m * std::pow(10, decade);
        if (std::log10(v) >= x_low_ - 1e-9 && std::log10(v) <= x_high_ + 1e-9) ticks.push_back(v);
      }
    return ticks;
  }
  std::vector<double> y_ticks() const {
    std::vector<double> ticks;
    for (double v = std::ceil(y_low_ / step_) * step_; v <= y_high_; v += step_) ticks.push_back(v);
    return ticks;
  }

 private:
  double x_low_ = 1e300, x_high_ = -1e300, y_low_ = 1e300, y_high_ = -1e300, step_ = 1;
};

void draw_axes(std::string& svg, const Plot& plot, const Frame& frame) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  for (const double v : frame.y_ticks())
    fmt::format_to(Out(svg),
                   "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#e4e4e4\"/>"
                   "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}</text>\n",
                   kLeft, right, frame.y(v), kLeft - 8, frame.y(v) + 4, std::round(v * 1e6) / 1e6);
  for (const double v : frame.x_ticks())
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

void draw_line(std::string& svg, const PlotLine& line, const Frame& frame, std::size_t place) {
  std::vector<PlotPoint> points;
  std::ranges::copy_if(line.points, std::back_inserter(points), drawable);
  std::string along, there, back;
  for (const PlotPoint& p : points) {
    fmt::format_to(Out(along), "{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.y));
    fmt::format_to(Out(there), "{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.high));
    back = fmt::format("{:.1f},{:.1f} ", frame.x(p.x), frame.y(p.low)) + back;
  }
  fmt::format_to(Out(svg),
                 "<polygon points=\"{0}{1}\" fill=\"{2}\" opacity=\"0.18\"/>\n"
                 "<polyline points=\"{3}\" fill=\"none\" stroke=\"{2}\" stroke-width=\"2\"/>\n",
                 there, back, line.colour, along);
  for (const PlotPoint& p : points)
    fmt::format_to(Out(svg), "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", frame.x(p.x),
                   frame.y(p.y), line.colour);
  const double y = kHeight - kBottom - 16 - 22 * static_cast<double>(place);
  fmt::format_to(Out(svg),
                 "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
                 "stroke-width=\"3\"/><text x=\"{4:.1f}\" y=\"{5:.1f}\" text-anchor=\"end\">{6}</text>\n",
                 kWidth - kRight - 34, kWidth - kRight - 10, y, line.colour, kWidth - kRight - 42, y + 5,
                 escaped(line.name));
}

}  // namespace

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
        frame.x(plot.mark), kTop, kHeight - kBottom, frame.x(plot.mark) - 6, kTop + 14,
        escaped(plot.mark_name));
  for (std::size_t i = 0; i < plot.lines.size(); ++i) draw_line(svg, plot.lines[i], frame, i);
  return svg + "</svg>\n";
}

}  // namespace filigree
