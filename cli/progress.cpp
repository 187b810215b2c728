// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "cli/command.h"

namespace filigree::cli {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int terminal_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string duration(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const long whole = seconds;
  return fmt::format("{}:{:02} min", whole / 60, whole % 60);
}

std::string short_count(double x) {
  return x >= 1e6   ? fmt::format("{:.1f}M", x / 1e6)
         : x >= 1e4 ? fmt::format("{:.0f}k", x / 1e3)
                    : fmt::format("{:.0f}", x);
}

std::string bar_line(const std::string& left, double share, const std::vector<std::string>& facts,
                     int columns) {
  const std::size_t width = std::max(1, columns - 1);
  std::string tail;
  for (const std::string& fact : facts) {
    if (left.size() + tail.size() + fact.size() + 2 > width) break;
    tail += "  " + fact;
  }
  std::string bar;
  const std::size_t used = left.size() + tail.size() + 3;
  if (used + 8 <= width) {
    const std::size_t cells = std::min<std::size_t>(40, width - used);
    const std::size_t full = share * cells;
    bar = " [" + std::string(full, '#') + std::string(cells - full, '.') + "]";
  }
  return "\r\x1b[K" + (left + bar + tail).substr(0, width);
}

ProgressDisplay::ProgressDisplay(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressDisplay::~ProgressDisplay() {
  clear();
}

Observer ProgressDisplay::observer(std::stop_token stop) {
  Observer observer;
  observer.stop = std::move(stop);
  if (!quiet_) observer.progress = [this](const Progress& progress) { show(progress); };
  observer.warning = [this](const std::string& text) {
    clear();
    complain("warning: " + text);
  };
  return observer;
}

void ProgressDisplay::clear() {
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void ProgressDisplay::show(const Progress& progress) {
  const double time = now();
  if (progress.stage != stage_ || progress.done < done_) {  // a new stage, or the same one over again
    stage_ = progress.stage;
    stage_began_ = shown_at_ = time;  // what takes no time is not worth showing
  }
  done_ = progress.done;
  if (progress.done >= progress.total) return clear();
  if (time - shown_at_ < (terminal_ ? kBarInterval : kLineInterval)) return;
  shown_at_ = time;

  const double elapsed = time - stage_began_;
  const double share = progress.total > 0 ? std::clamp(progress.done / progress.total, 0.0, 1.0) : 0.0;
  // The most important first: a narrow terminal drops the last ones.
  std::vector<std::string> facts = {fmt::format("{:3.0f} %", 100 * share)};
  if (progress.done > 0 && elapsed > 0)
    facts.push_back(fmt::format("{} left", duration(elapsed / share - elapsed)));
  if (!progress.unit.empty()) {
    facts.push_back(
        fmt::format("{}/{} {}", short_count(progress.done), short_count(progress.total), progress.unit));
    if (elapsed > 0) facts.push_back(fmt::format("{}/s", short_count(progress.done / elapsed)));
  }
  if (!terminal_) {
    std::string line = shown(stage_) + ":";
    for (const std::string& fact : facts) line += "  " + fact;
    std::fputs((line + "\n").c_str(), stderr);
    return;
  }
  std::fputs(bar_line(shown(stage_), share, facts, terminal_width()).c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace filigree::cli
