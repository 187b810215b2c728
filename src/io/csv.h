// SPDX-License-Identifier: Apache-2.0
// Comma-separated numbers: one column may be the label, all others are features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/labelled_rows.h"

namespace filigree::internal {

struct CsvTable {
  std::vector<std::string> header;         // names of all columns; empty where the file has none
  std::vector<std::string> feature_names;  // the same without the label's
  Index features = 0;                      // columns but the label's
  RowLabels labels;
  std::vector<float> value;  // rows × features
};

// A first line is a header if every field can be a name: not a number in any spelling (0x10, 1_000, 5%); or
// if those that can begin with a letter and the others are numbers that count up by one (label,0,1,2); or if
// it names label_column. Blank lines, CRLF, spaces around fields, quoted fields and a byte order mark are
// accepted. label_column is a number counted from 1, or a header's name; empty where no column is a label:
// then all labels are 0.
CsvTable read_csv(Source source, std::string_view label_column, const Observer& observer);

}  // namespace filigree::internal
