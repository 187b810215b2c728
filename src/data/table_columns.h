// SPDX-License-Identifier: Apache-2.0
// Which columns of a table are what: features, targets, weights, or nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "filigree/columns.h"
#include "io/csv.h"

namespace filigree::internal {

// The columns of a table by their numbers, counted from 0.
struct ColumnRoles {
  std::vector<std::size_t> features, targets;
  std::optional<std::size_t> weight = {};
  bool targets_said = true;               // by whoever asked; not just the first column
  std::vector<std::size_t> unknown = {};  // named columns that a network does not know
};

// `list`: names or numbers from 1, between commas, where \, is a comma in a name and * and ? stand for any
// letters; each must mean at least one column. `what`: for messages, "label".
std::vector<std::size_t> select_columns(const std::string& list, const CsvHeader& header, const char* what);
// The names in such a list, for finding a header.
std::vector<std::string> listed_names(const std::string& list);

// Says which columns a network does not know.
void warn_of_unknown(const CsvHeader& header, const ColumnRoles& roles, const Observer& observer);

// What the options say of a table's columns. Throws Error where they contradict each other, or leave nothing.
ColumnRoles choose_roles(const CsvHeader& header, const DataOptions& options);

// How each column is to be read.
std::vector<ColumnUse> uses_of(const CsvHeader& header, const ColumnRoles& roles, const DataOptions& options);

// What the columns of a table are to a network that was trained on another one: found by name where both
// sides have names, else by position. `targets`: the columns of the targets are wanted as well, by the
// options or by the names that are known; otherwise what the options name as the label is left out.
ColumnRoles match_roles(const CsvHeader& header, const KnownColumns& known, const DataOptions& options,
                        bool targets);
std::vector<ColumnUse> uses_of(const CsvHeader& header, const ColumnRoles& roles, const KnownColumns& known);

}  // namespace filigree::internal
