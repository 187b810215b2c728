// SPDX-License-Identifier: Apache-2.0
// Sparse labelled rows as LIBSVM writes them: "label feature:value feature:value …", features from 1.
#pragma once

#include <vector>

#include "io/csv.h"

namespace filigree::internal {

struct LibsvmTable {
  Index features = 0;                   // the largest feature's number
  TargetCells target;                   // a number a row
  std::vector<Offset> line;             // of each row
  std::vector<Offset> row_begin = {0};  // rows + 1
  std::vector<Index> column;            // counted from 0, strictly increasing within a row
  std::vector<float> value;
};

// Blank lines and what follows a # are skipped; a row may have no features.
LibsvmTable read_libsvm(Source source, const Observer& observer);

}  // namespace filigree::internal
