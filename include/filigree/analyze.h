// SPDX-License-Identifier: Apache-2.0
// Does sparsity pay here? A network, layer by layer, next to dense products of the same shapes in the same
// run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/network.h"

#pragma GCC visibility push(default)
namespace filigree {

struct AnalyzeOptions {
  std::vector<Index> batches = {1, 32, 512};  // rows of a call
  double seconds = 0.1;                       // for each measurement, about
};

// Medians of calls that took turns, on the threads of the session.
struct BatchTiming {
  Index rows = 0;
  double seconds = 0, dense_seconds = 0;
  double speed_up() const { return dense_seconds / seconds; }
};

struct LayerAnalysis {
  Index inputs = 0, outputs = 0;
  Offset connections = 0;
  double sparsity = 0;         // share of the weights that do not exist
  std::string structure = {};  // "none", "blocks of 4 × 4", "2 of 4 inputs", …
  std::string kernel = {};     // what computes it
  std::vector<BatchTiming> timings =
      {};  // of the products and the activation alone, in the order of the batches
  // At the largest batch: multiplications and additions a second as a share of what dense products reach
  // here, and bytes of weights, inputs and outputs a second as a share of what copying reaches.
  double compute_share = 0, memory_share = 0;
  std::vector<std::string> advice = {};  // what would make it faster
};

struct Analysis {
  std::string processor = {};
  int threads = 0;
  double dense_rate = 0;                  // multiplications and additions a second of a large dense product
  double copy_rate = 0;                   // bytes a second, read and written, of copying in memory
  std::vector<BatchTiming> network = {};  // inputs in, outputs out
  std::vector<LayerAnalysis> layers =
      {};                    // as they are kept; of mixtures and exits only the network is measured
  std::string summary = {};  // "runs 6.1 × as fast as dense 32-bit floats here at 32 rows"
};
[[nodiscard]] Analysis analyze(const Network& network, const AnalyzeOptions& options = {},
                               const Observer& observer = {});

// A picture as SVG: operations a second over operations a byte, the bounds of this machine as lines, the
// layers as points.
void plot_roofline(const Analysis& analysis, const std::filesystem::path& path);

}  // namespace filigree
#pragma GCC visibility pop
