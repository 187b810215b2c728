// Progress on standard error: a bar on a terminal, a line now and then elsewhere.
#pragma once

#include <string>

#include "filigree/vocabulary.h"

namespace filigree::cli {

class ProgressDisplay {
 public:
  explicit ProgressDisplay(bool quiet);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  Observer observer(std::stop_token stop);

 private:
  void show(const Progress& progress);
  void clear();

  bool quiet_, terminal_;
  std::string stage_;
  double stage_began_ = 0, shown_at_ = 0, done_ = 0;
  bool drawn_ = false;
};

}  // namespace filigree::cli
