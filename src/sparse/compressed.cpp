// SPDX-License-Identifier: Apache-2.0
// The checks on compressed arrays that CSR, CSC and BSR share.
#include "sparse/compressed.h"

#include "base/error.h"

namespace filigree::internal {

namespace {

void validate_offsets(const CompressedArrays& a, std::string_view what) {
  if (a.lines < 0 || a.bound < 0) {
    fail("{}: {} {}s and {} {}s; neither may be negative", what, a.lines, a.line, a.bound, a.cross);
  }
  const std::size_t lines = a.lines;
  if (a.begin.size() != lines + 1) {
    fail("{}: {}_begin holds {} offsets, but {} {}s need {}", what, a.line, a.begin.size(), lines, a.line,
         lines + 1);
  }
  if (a.begin[0] != 0) fail("{}: {}_begin[0] is {}, not 0", what, a.line, a.begin[0]);
  for (std::size_t i = 0; i < lines; ++i) {
    if (a.begin[i + 1] < a.begin[i]) {
      fail("{}: {}_begin decreases from {} to {} at {} {}", what, a.line, a.begin[i], a.begin[i + 1], a.line,
           i);
    }
  }
  if (a.begin[lines] != static_cast<Offset>(a.index.size())) {
    fail("{}: {}_begin ends at {}, but there are {} {} indices", what, a.line, a.begin[lines], a.index.size(),
         a.cross);
  }
}

}  // namespace

void validate_compressed(const CompressedArrays& a, std::string_view what) {
  validate_offsets(a, what);
  for (Index i = 0; i < a.lines; ++i) {
    Index previous = -1;
    for (Offset e = a.begin[i]; e < a.begin[i + 1]; ++e) {
      const Index index = a.index[e];
      if (index < 0 || index >= a.bound) {
        fail("{}: {} {}, entry {}: {} {}, but the matrix has {} {}s", what, a.line, i, e, a.cross, index,
             a.bound, a.cross);
      }
      if (index <= previous) {
        fail("{}: {} {}, entry {}: {} {} follows {} {}; they must increase", what, a.line, i, e, a.cross,
             index, a.cross, previous);
      }
      previous = index;
    }
  }
}

}  // namespace filigree::internal
