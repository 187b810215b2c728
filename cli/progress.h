// SPDX-License-Identifier: Apache-2.0
// Progress on standard error: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <string>
#include <vector>

#include "filigree/vocabulary.h"

namespace filigree::cli {

constexpr double kBarInterval = 0.1;    // seconds between two drawings
constexpr double kLineInterval = 10.0;  // between two lines where there is no terminal

int terminal_width();                  // of standard error
double now();                          // seconds
std::string duration(double seconds);  // "12 s", "1:32 min"
std::string short_count(double x);     // "61k"
// "\r" and `left`, a bar, and as many of the facts as the width takes, the first ones first.
std::string bar_line(const std::string& left, double share, const std::vector<std::string>& facts, int width);

class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool quiet);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  Observer observer(std::stop_token stop);
  void clear();  // takes the line away, before something else is printed

 private:
  void show(const Progress& progress);

  bool quiet_, terminal_;
  std::string stage_;
  double stage_began_ = 0, shown_at_ = 0, done_ = 0;
  bool drawn_ = false;
};

}  // namespace filigree::cli
