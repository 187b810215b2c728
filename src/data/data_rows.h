// SPDX-License-Identifier: Apache-2.0
// Where the features of rows lie: in memory or on disk, as bytes where these hold them exactly.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.h"
#include "io/row_store.h"

namespace filigree::internal {

// All features are floats that bytes hold exactly.
bool fits_bytes(const DataRows& rows);

struct TakeOptions {
  std::uint64_t memory = std::uint64_t{1} << 62;  // bytes of features; more go to disk
  bool as_bytes = false;                          // floats that fits_bytes()
  std::string name = {};                          // for messages
};

// The given rows in the given order, with what is to be told of them.
DataRows take_rows(const DataRows& from, std::span<const Index> rows, const TakeOptions& options = {});

// The same rows, as bytes where these hold them exactly.
DataRows narrowed(DataRows rows, const TakeOptions& options);

}  // namespace filigree::internal
