// SPDX-License-Identifier: Apache-2.0
// Tests of plots.
#include "report/plot.h"

#include <gtest/gtest.h>

#include <cmath>

namespace filigree::internal {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Plot, DrawsEveryLineWithItsBandAndPoints) {
  Plot plot{"a < b & c", "x", "y", {}, 300, "here"};
  plot.lines = {{"one", "#111111", {{100, 5, 4, 6}, {1000, 7, 7, 8}, {10000, 6, 5, 7}}},
                {"two", "#222222", {{100, 1, 1, 1}, {1000, 2, 1, 3}}}};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, "<polyline"), 2u);
  EXPECT_EQ(count(svg, "<polygon"), 2u);
  EXPECT_EQ(count(svg, "<circle"), 5u);
  EXPECT_EQ(count(svg, "a &lt; b &amp; c"), 1u);
  EXPECT_EQ(count(svg, ">1k<"), 1u);
  EXPECT_EQ(count(svg, "stroke-dasharray"), 1u);
  EXPECT_EQ(svg.rfind("</svg>\n"), svg.size() - 7);
}

TEST(Plot, WritesOneLabelForPointsThatLieTogether) {
  Plot plot{"t", "x", "y", {{"one", "#111111", {}}}, 0, ""};
  for (const double x : {100.0, 100.1, 900.0}) plot.lines[0].points.push_back({x, 5, 5, 5});
  plot.lines[0].points[0].label = "a";
  plot.lines[0].points[1].label = "b";
  plot.lines[0].points[2].label = "c";
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, ">a to b<"), 1u);
  EXPECT_EQ(count(svg, ">c<"), 1u);
}

TEST(Plot, PutsRoundNumbersOnShortAxes) {
  Plot plot{"t", "x", "y", {{"one", "#111111", {{18000, 11, 10.5, 12.4}, {46000, 11.2, 10.6, 11.9}}}}, 0, ""};
  const std::string svg = to_svg(plot);
  for (const char* tick : {">11<", ">11.5<", ">12<", ">20k<", ">40k<"})
    EXPECT_EQ(count(svg, tick), 1u) << tick;
}

TEST(Plot, LeavesOutWhatIsNotFiniteAndBearsNothing) {
  Plot plot{"t", "x",
            "y", {{"one", "#111111", {{0, 5, 4, 6}, {10, NAN, 7, 8}, {20, 6, 5, 7}, {30, 6, -1, 7}}}},
            0,   ""};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, "<circle"), 1u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(svg, "inf"), 0u);
  EXPECT_EQ(count(to_svg({}), "nan"), 0u);
}

TEST(Plot, BandsAreTheIntervalUpToTheEdge) {
  const PlotPoint inside = error_point(10, 0.9, 0.03, 0.0001);
  EXPECT_DOUBLE_EQ(inside.y, 10);
  EXPECT_DOUBLE_EQ(inside.low, 7);
  EXPECT_DOUBLE_EQ(inside.high, 13);
  const PlotPoint wide = error_point(10, 0.9, 0.08, 0.0001);  // more than half of the error
  EXPECT_NEAR(wide.low, 2, 1e-9);
  EXPECT_DOUBLE_EQ(error_point(10, 0.9, 0.2, 0.0001).low, 0.01);  // a logarithm has no zero
}

TEST(Plot, EvenAxesAndLabels) {
  Plot plot{"t", "x", "y", {{"one", "#111111", {{100, 5, 4, 6, "0.5"}, {200, 7, 7, 8, "<1>"}}}}, 0, "", true};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(count(svg, ">0.5<"), 1u);
  EXPECT_EQ(count(svg, ">&lt;1&gt;<"), 1u);
  EXPECT_EQ(count(svg, ">100<"), 1u);
  EXPECT_EQ(count(svg, ">200<"), 1u);
}

}  // namespace
}  // namespace filigree::internal
