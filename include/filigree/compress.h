// Compression: what a network costs, before and after, and how long it will take.
#pragma once

#include <filesystem>
#include <string>
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

// What the parts of a network's run cost on a machine, found by running networks of all kinds. The time of a
// run is the sum over its parts.
struct TimeModel {
  std::string processor, simd;  // where it was measured
  int threads = 0;
  Index rows = 0;  // of a call
  struct Part {
    std::string name;    // "call", "column", …; docs/COMPRESSION.md explains them
    double seconds = 0;  // of one
  };
  std::vector<Part> parts = {};
  double error = 0, worst_error = 0;  // relative, on the networks that were measured: the median, the worst
  double yardstick_seconds = 0;       // of a network that is always the same: the speed of the machine then
};
TimeModel measure_time_model(Index rows = 512, const Observer& observer = {});

// JSON. Throws Error if the file is no time model.
TimeModel read_time_model(const std::filesystem::path& path);
void write_time_model(const TimeModel& model, const std::filesystem::path& path);

// Empty if the model holds here, else what is different: "it was measured with 4 threads, now there are 2".
std::string why_not_here(const TimeModel& model);

// The model's word for a network beside the measurement.
struct TimeCheck {
  double predicted = 0;  // seconds, like the others
  double measured = 0;   // the median
  double adjusted = 0;   // the same at the speed the machine had for the model, by turns with the yardstick
  double error() const { return adjusted / predicted - 1; }
};
TimeCheck check_time(const TimeModel& model, const Network& network, const Data& data,
                     const Observer& observer = {});

}  // namespace filigree
