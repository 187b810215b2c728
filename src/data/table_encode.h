// SPDX-License-Identifier: Apache-2.0
// Cells of a table as features of rows: gaps are filled, and words become inputs of their own.
#pragma once

#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/table_columns.h"

namespace filigree::internal {

// How the features of a table become inputs, as its rows with these numbers say. Columns that cannot be used
// (text that hardly ever repeats) are left out of roles.features. Warns of what is suspicious.
std::vector<InputColumn> fit_columns(const CsvTable& table, ColumnRoles& roles, std::span<const Index> rows,
                                     const TableOptions& options, const Observer& observer);

// Whether columns are more than numbers as they are.
bool changes_cells(const std::vector<InputColumn>& columns);

// One name for each input: "age", "age is missing", "color=red", "color=(other)".
std::vector<std::string> input_names_of(const std::vector<InputColumn>& columns);

// The rows of a table without their targets: columns[i] is made of table column roles.features[i]. Sparse
// where most inputs are zero because they stand for words. Numbers that are the rows as they are, are taken
// from the table; what takes more than `memory` bytes goes to disk.
DataRows encode_rows(CsvTable& table, const ColumnRoles& roles, const std::vector<InputColumn>& columns,
                     std::uint64_t memory = std::uint64_t{1} << 62);

// 1 for each input that stands for a word or a gap, and is not to be scaled; empty if there are none.
std::vector<char> indicators_of(const std::vector<InputColumn>& columns);

}  // namespace filigree::internal
