// SPDX-License-Identifier: Apache-2.0
// What the target columns of a table say: classes, values or labels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/table_columns.h"

namespace filigree::internal {

// What is to be learned from a table.
struct TargetKind {
  Task task = Task::classes;
  std::vector<std::string> names = {};    // of the classes in their order, of the values or labels
  Index count = 1;                        // of values or labels
  std::vector<std::string> columns = {};  // of the targets, where there is a header
};

// As `wanted` says, or as it follows from the cells: text is classes, and so are whole numbers with few
// different values; other numbers are values; several columns of 0 and 1 (or yes and no) are labels.
TargetKind find_targets(const CsvTable& table, const ColumnRoles& roles, std::optional<Task> wanted);
// The same, or what a network knows, which gives the classes its numbers.
TargetKind find_targets(const CsvTable& table, const ColumnRoles& roles, std::optional<Task> wanted,
                        const KnownTable* known);
// Where classes are from, for messages of add_targets().
std::string known_from(const KnownTable* known, const std::string& file);

// The targets and weights of each row. Throws Error with the line of the first that is missing, of another
// kind, or a class that is not among the names; `known`: where those are from.
void add_targets(const CsvTable& table, const ColumnRoles& roles, const TargetKind& kind,
                 const std::string& known, DataRows& rows);

// Name, task and numbers of a set that is read from `file`.
Dataset described(const std::string& file, const TargetKind& kind);

}  // namespace filigree::internal
