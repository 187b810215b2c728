// Comma-separated numbers: one column may be the label, all others are features.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/labelled_rows.h"

namespace filigree {

struct CsvTable {
  std::vector<std::string> header;  // names of all columns; empty where the file has none
  Index features = 0;               // columns but the label's
  RowLabels labels;
  std::vector<float> value;  // rows × features
};

// A first line with a field that is no number is a header. Blank lines, CRLF, spaces around fields, quoted
// fields and a byte order mark are accepted. label_column is a number counted from 1, or a header's name;
// empty where no column is a label: then all labels are 0.
CsvTable read_csv(Source source, std::string_view label_column, const Observer& observer);

}  // namespace filigree
