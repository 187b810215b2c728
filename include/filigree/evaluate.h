// SPDX-License-Identifier: Apache-2.0
// How well a network does on data.
#pragma once

#include <vector>

#include "filigree/data.h"
#include "filigree/plan.h"

#pragma GCC visibility push(default)
namespace filigree {

struct EvaluateOptions {
  Part part = Part::test;
  double exit_threshold = 1;  // see PlanOptions
};

// The fraction of rows whose largest output is their label, and what goes with it.
struct Evaluation {
  Index rows = 0;
  double accuracy = 0;
  double loss = 0;  // softmax cross-entropy of the outputs, or mean squared error of sigmoid outputs
  double seconds = 0;
  std::vector<Index> wrong_by_class, rows_by_class;
  double connections_per_row = 0;         // computed, on average
  std::vector<Offset> rows_by_exit = {};  // see RunWork
};
Evaluation evaluate(const Network& network, const Data& data, const EvaluateOptions& options = {},
                    const Observer& observer = {});

// Whether a network was trained on data: on rows of the same file, and on these very training rows.
enum class Overlap { unknown, none, same_rows, same_split };
Overlap training_overlap(const Network& network, const Data& data);

}  // namespace filigree
#pragma GCC visibility pop
