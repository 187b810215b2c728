// SPDX-License-Identifier: Apache-2.0
// What text files of rows share: numbers with their places, progress.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "filigree/vocabulary.h"
#include "io/source.h"
#include "io/tsv_scan.h"

namespace filigree::internal {

// "file:line: … in unit number"
struct NumberPlace {
  const std::string& file;
  Offset line;
  std::string_view unit = {};  // "column"; empty where the line says enough
  Offset number = 0;
};

// Whole and within Index.

std::optional<Index> whole_number_of(std::string_view text);

// Also true of nan, infinities and what no float can hold: a number, if not one to learn from.
bool is_number(std::string_view text);

// The careful parsers: they take +1 and values too small for a float, and throw about everything else.
float parse_feature(std::string_view text, const NumberPlace& place);
double parse_target(std::string_view text, const NumberPlace& place);

// Blocks of whole lines, as LineBlocks; the observer is asked and told about each.
class WatchedBlocks {
 public:
  WatchedBlocks(Source& source, const Observer& observer);
  std::string_view next(Offset lines_before);

 private:
  LineBlocks blocks_;
  const Observer& observer_;
  std::string stage_, name_;
  double done_ = 0;
  double total_ = 0;  // of a compressed source, as far as it is known
};

}  // namespace filigree::internal
