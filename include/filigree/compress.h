// Compression: what a network costs, before and after.
#pragma once

#include <vector>

#include "filigree/train.h"

namespace filigree {

// What a network costs to run here, made ready as compile() does.
struct Footprint {
  Offset parameters = 0;            // connections and biases, as they are kept
  std::vector<Index> neurons = {};  // per layer, inputs first, after the exact passes
  std::uint64_t memory_bytes = 0;   // of the plan, and of the panels of all threads
  double accuracy = 0;              // on the test rows; NaN if there are none
  struct Timing {
    Index batch = 0;
    double seconds = 0, fastest = 0, slowest = 0;  // of a call: the median, and the spread
  };
  std::vector<Timing> timings = {};  // of 1, 32 and 512 rows
};

// Batches are made of test rows, or of training rows if there are none; each size runs for about `seconds`.
Footprint footprint(const Network& network, const Data& data, double seconds = 0.1,
                    const Observer& observer = {});

}  // namespace filigree
