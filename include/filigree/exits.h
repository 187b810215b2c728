// SPDX-License-Identifier: Apache-2.0
// What early exits are worth: accuracy against the connections that are computed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/evaluate.h"

#pragma GCC visibility push(default)
namespace filigree {

struct ExitPoint {
  double threshold = 1;
  Evaluation evaluation = {};
  double seconds = 0, fastest = 0, slowest = 0;  // of a run over all rows: median and range
};

struct ExitCurve {
  std::vector<ExitPoint> points;  // in the order of the thresholds; the last one is 1, to the end
  Index rows = 0;
};

// Thresholds from sure of hardly anything to sure of nearly everything.
std::vector<double> default_exit_thresholds();

struct ExitCurveOptions {
  std::vector<double> thresholds = default_exit_thresholds();  // 1 is added if it is not among them
  Part part = Part::test;
  int repeat = 5;  // runs of each threshold, interleaved
};

// Every threshold is really run. Throws Error if the network has no exits.
ExitCurve exit_curve(const Network& network, const Data& data, const ExitCurveOptions& options = {},
                     const Observer& observer = {});

// An SVG: error against connections a row, with 95 % intervals.
void write_exit_plot(const std::filesystem::path& path, const ExitCurve& curve, const std::string& title);

}  // namespace filigree
#pragma GCC visibility pop
