// SPDX-License-Identifier: Apache-2.0
// Predictions: tables of inputs from files, what a network says about their rows, and files of that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
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

struct InputOptions {
  std::string leave_out = {};  // columns of a CSV file, as DataOptions::label_column
  TableOptions table = {};     // how that is read
  // Bytes that the file may unpack to, and that the rows of a sparse one may take; 0: three quarters of the
  // machine's memory.
  std::uint64_t memory_limit = 0;
};

// Rows of a file as the network takes them. idx (unsigned bytes), npy and npz (numbers), libsvm (labels are
// read over) or CSV, told apart by what they hold; .gz and .zst are decompressed; "-" is standard input. The
// first dimension of idx, npy and npz counts rows, all others are a row's columns. Columns of a CSV file are
// found by name where both sides have names, and those that the network does not know are left out. Throws
// Error if the rows do not fit.
[[nodiscard]] InputTable read_inputs(const Network& network, const std::filesystem::path& path,
                                     const InputOptions& options = {}, const Observer& observer = {});

struct Predictions {
  Task task = Task::classes;
  Index rows = 0;
  Index outputs = 0;           // numbers a row; two for two classes that one output tells apart
  bool probabilities = false;  // or the network's outputs as they are
  std::vector<float> values;   // rows × outputs
  // Of classes: per row the one with the largest output, the first of equals; -1 if one is NaN.
  std::vector<Index> best;
  std::vector<std::string> names = {};  // of the classes, labels or values; empty: 0, 1, …

  std::string name(Index output) const { return names.empty() ? std::to_string(output) : names[output]; }
  bool holds(Index row, Index label) const;  // of labels: it is more likely than not
};

struct PredictOptions {
  bool raw = false;        // outputs as they are, never probabilities
  bool any_value = false;  // outputs that are not finite are no Error
};

// Probabilities are the softmax of the outputs of a network trained with cross-entropy, their sigmoid of one
// trained with binary cross-entropy, and the outputs themselves of one trained with mean squared error.
// Values are the outputs, in the units of the training data. Of a network that does not say what it was
// trained for, the outputs.
// Any number of threads may predict with one plan at the same time.
[[nodiscard]] Predictions predict(const Plan& plan, const InputTable& inputs,
                                  const PredictOptions& options = {}, const Observer& observer = {});

// A name that ends in .npy or .npy.gz: the values as float32. Any other: CSV with a header. Classes:
// class,p0,p1,… (y0,y1,… for outputs that are no probabilities), where p is followed by a class's name;
// labels: labels,p…, with the names of those that hold between | signs; values: their names.
void write_predictions(const std::filesystem::path& path, const Predictions& predictions);

}  // namespace filigree
#pragma GCC visibility pop
