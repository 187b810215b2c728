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
  Buffer<Index> column;                 // counted from 0, strictly increasing within a row; may be on disk,
  Buffer<float> value;                  // as this
};

// Blank lines and what follows a # are skipped; a row may have no features. Of `memory_limit` bytes a quarter
// may be features in memory; more go to disk.
LibsvmTable read_libsvm(Source source, const Observer& observer,
                        std::uint64_t memory_limit = std::uint64_t{1} << 62);

}  // namespace filigree::internal
