// Predictions: tables of inputs from files, what a network says about their rows, and files of that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "filigree/plan.h"

#pragma GCC visibility push(default)
namespace filigree {

// Rows of inputs: exactly one of `bytes` and `floats` holds rows × columns values, row-major.
struct InputTable {
  Index rows = 0, columns = 0;
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
};

// idx (unsigned bytes), npy (uint8, float32, float64) or CSV (numbers, a header if there is one, no label
// column), told apart by what they hold; .gz and .zst are decompressed. The first dimension of idx and npy
// files counts rows, all others are a row's columns.
InputTable read_inputs(const std::filesystem::path& path, const Observer& observer = {});

struct Predictions {
  Index rows = 0, outputs = 0;
  bool probabilities = false;            // or the network's outputs as they are
  std::vector<float> values;             // rows × outputs
  std::vector<Index> best;               // per row the largest output, the first of equals; -1 if one is NaN
  std::vector<Index> class_labels = {};  // what the training data called each output; empty: 0, 1, …

  Index label(Index output) const {
    return class_labels.empty() ? output : class_labels[static_cast<std::size_t>(output)];
  }
};

// Probabilities are the softmax of the outputs of a network trained with cross-entropy, and the outputs
// themselves of one trained with mean squared error. Of a network that does not say what it was trained for,
// and if `raw`, the outputs.
Predictions predict(const Network& network, const InputTable& inputs, bool raw = false,
                    const Observer& observer = {}, const PlanOptions& options = {});

// A name that ends in .npy or .npy.gz: the values as float32. Any other: CSV with a header, class,p0,p1,…
// (y0,y1,… for outputs that are no probabilities; the numbers are the classes' labels).
void write_predictions(const std::filesystem::path& path, const Predictions& predictions);

}  // namespace filigree
#pragma GCC visibility pop
