// SPDX-License-Identifier: Apache-2.0
// Rows of any layout, made such that the engine can read them.
#pragma once

#include "base/buffer.h"
#include "filigree/rows.h"

namespace filigree::internal {

// Floats or bytes whose columns lie next to each other: those that were given, or a copy. Sparse rows stay.
class PlainRows {
 public:
  // Throws Error where a double does not fit a float.
  explicit PlainRows(const Rows& rows);
  PlainRows(const PlainRows&) = delete;
  const Rows& rows() const { return rows_; }
  Buffer<float> take_floats() { return std::move(floats_); }  // empty where nothing was copied
  Buffer<std::uint8_t> take_bytes() { return std::move(bytes_); }

 private:
  Rows rows_;
  Buffer<float> floats_;
  Buffer<std::uint8_t> bytes_;
};

}  // namespace filigree::internal
